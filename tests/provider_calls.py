"""Every call of the engine's protocol for providers, made by another user of the machine."""

from __future__ import annotations

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from pulumi.runtime.proto import provider_pb2

from tests.other_user import OtherUser

_SERVICE: ServiceDescriptor = provider_pb2.DESCRIPTOR.services_by_name["ResourceProvider"]


def refusals(user: OtherUser, port: int) -> dict[str, str]:
    """Each method's name → the words of its refusal, over one connection; the code of what is no refusal."""
    relay = user.relay(port)
    channel = grpc.insecure_channel(f"127.0.0.1:{relay.port}", options=(("grpc.use_local_subchannel_pool", 1),))
    answers: dict[str, str] = {}
    with channel:
        for method in _SERVICE.methods:
            request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
            call = channel.unary_unary(
                f"/{_SERVICE.full_name}/{method.name}",
                request_serializer=request.SerializeToString,
                response_deserializer=response.FromString,
            )
            try:
                call(request(), timeout=60)
                answers[method.name] = "answered"
            except grpc.RpcError as error:
                refused = error.code() is grpc.StatusCode.PERMISSION_DENIED
                answers[method.name] = str(error.details()) if refused else f"{error.code()}: {error.details()}"
    relay.close()
    return answers
