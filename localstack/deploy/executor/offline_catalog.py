"""Says of every CloudFormation resource type that it is known.

LocalStack asks a catalog on the internet, and without it refuses every template. It also refuses a
type whose condition is false, such as production's database in its local stage. With this answer
only what is really created counts: a type that LocalStack cannot create still fails the stack,
because CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES is 0.
"""
from localstack.utils.catalog.catalog import AwsCatalogRuntimePlugin
from localstack.utils.catalog.common import CloudFormationResourcesSupportAtRuntime


class OfflineCatalog(AwsCatalogRuntimePlugin):
    name = "aws-catalog-remote-state-with-license"  # the one that it looks for first

    def get_cloudformation_resource_status(self, resource_name, service_name, is_pro_resource=False):
        return CloudFormationResourcesSupportAtRuntime.AVAILABLE
