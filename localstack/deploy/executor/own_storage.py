"""Keeps LocalStack's S3 objects in its own temporary folder.

It keeps them in /tmp/localstack-s3-storage, one folder for all, in which a second user may not write.
"""
import tempfile

from localstack.runtime import hooks


@hooks.on_infra_start()
def own_storage():
    from localstack.services.s3 import provider

    provider.DEFAULT_S3_TMP_DIR = tempfile.mkdtemp(prefix="s3-")
