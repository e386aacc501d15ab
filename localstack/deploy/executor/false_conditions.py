"""Makes LocalStack 4 leave alone what a false condition leaves out, as CloudFormation does.

It looks into such resources too, and refuses the template over what it finds there: attributes of
resources that do not exist in this stage, of types that it does not know.
"""
from localstack.runtime import hooks


@hooks.on_infra_start()
def false_conditions():
    from localstack.services.cloudformation.engine.v2.change_set_model import Nothing
    from localstack.services.cloudformation.engine.v2.change_set_model_preproc import (
        ChangeSetModelPreproc,
        PreprocEntityDelta,
    )

    visit = ChangeSetModelPreproc.visit_node_resource

    def visit_existing(self, node_resource):
        if node_resource.condition_reference is not Nothing:
            exists = self._resolve_resource_condition_reference(node_resource.condition_reference)
            if exists.before is not True and exists.after is not True:
                return PreprocEntityDelta(before=Nothing, after=Nothing)
        return visit(self, node_resource)

    ChangeSetModelPreproc.visit_node_resource = visit_existing
