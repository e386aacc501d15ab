"""Makes LocalStack 4 answer with the template's gateway responses, as API Gateway does.

It takes them by a call of their own but not from an imported OpenAPI document, where they belong:
by that call they would come after the deployment which should contain them. And of what it takes
it uses the status only, neither body nor headers.
"""
import json

from localstack.runtime import hooks


@hooks.on_infra_start()
def gateway_responses():
    import_them()
    answer_with_them()


def import_them():
    from localstack.aws.connect import connect_to
    from localstack.services.apigateway.legacy import provider

    import_api = provider.import_api_from_openapi_spec

    def import_all(rest_api, context, open_api_spec, mode):
        result = import_api(rest_api, context, open_api_spec, mode)
        client = connect_to(aws_access_key_id=context.account_id, region_name=context.region).apigateway
        for kind, response in open_api_spec.get("x-amazon-apigateway-gateway-responses", {}).items():
            parts = ("statusCode", "responseParameters", "responseTemplates")
            client.put_gateway_response(
                restApiId=rest_api.id, responseType=kind, **{p: response[p] for p in parts if p in response}
            )
        return result

    provider.import_api_from_openapi_spec = import_all


def answer_with_them():
    from localstack.services.apigateway.next_gen.execute_api.gateway_response import get_gateway_response_or_default
    from localstack.services.apigateway.next_gen.execute_api.handlers.gateway_exception import GatewayExceptionHandler

    create = GatewayExceptionHandler.create_exception_response

    def create_whole(self, exception, context):
        answer = create(self, exception, context)
        told = get_gateway_response_or_default(exception.type, context.deployment.rest_api.gateway_responses)
        body = (told.get("responseTemplates") or {}).get("application/json")
        if body:
            body = body.replace("$context.error.messageString", json.dumps(exception.message))
            answer.set_data(body.replace("$context.requestId", context.context_variables["requestId"]))
        for name, value in (told.get("responseParameters") or {}).items():
            answer.headers[name.removeprefix("gatewayresponse.header.")] = value.strip("'")
        return answer

    GatewayExceptionHandler.create_exception_response = create_whole
