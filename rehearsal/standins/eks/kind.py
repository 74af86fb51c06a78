"""What one simulated resource type does: the life cycle every type shares, with places for its own behaviour."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from concepts.unknown import UNKNOWN
from rehearsal.standins.base import Created, Diff, Properties
from rehearsal.standins.differences import diff
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.errors import ApiError, not_found
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.tagging import retag
from rehearsal.standins.rules import ServerRule, broken
from rehearsal.standins.store import Record
from rehearsal.standins.values import without_none

_LOOK_SECONDS: Final = 0.5


class Kind(ABC):
    """One resource type of the provider. Stateless: everything that exists is in the account."""

    token: ClassVar[str]
    shape: ClassVar[Shape]
    rules: ClassVar[Sequence[ServerRule[Account]]] = ()
    computed: ClassVar[tuple[str, ...]] = ()
    """Outputs that only a created resource has."""

    in_moto: ClassVar[bool] = True
    """Whether moto has the resource; what it lacks is only in the store."""
    users: ClassVar[tuple[str, ...]] = ()
    """Types whose resources keep one that they mention from being removed."""

    @abstractmethod
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        """Make the resource by its request, whose parameters are ``params``; the provider's id of it."""

    @abstractmethod
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        """What AWS adds to the inputs, as it is now; ``None`` or AWS's "not found" if the resource is gone."""

    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:  # noqa: B027 (some cannot)
        """Change the resource in place, apart from its tags."""

    @abstractmethod
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        """Remove the resource; refuses what AWS refuses."""

    def started(self, account: Account, record: Record, *, new: bool) -> Record:
        """Do what follows in the cluster, outside AWS, for a ``new`` or changed resource; the record as it is then."""
        return record

    def stop(self, account: Account, record: Record) -> None:  # noqa: B027 (most have nothing in the cluster)
        """Undo ``started`` before the resource is removed."""

    def live(self, account: Account, record: Record) -> Properties:
        """The inputs as they are now, where something else than the program changes them."""
        return record.inputs

    def retag(self, account: Account, record: Record, tags: Mapping[str, str]) -> None:
        """Give the resource ``tags`` in place of those it has."""
        by_arn = self.shape.service in ("eks", "events", "logs")
        target = str(record.outputs["arn"]) if by_arn else record.id
        retag(account, self.shape.service, self.token, target, record.inputs.get("tags") or {}, tags)

    def renewed(self, old: Properties, new: Properties) -> tuple[str, ...]:
        """Outputs that an update from ``old`` to ``new`` makes anew."""
        return ()

    def diff(self, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
        """What changed, and what of it cannot be changed in place."""
        return diff(self.shape, old, new, ignored)

    def preview(self, account: Account, inputs: Properties) -> Properties:
        """The state as far as it is known before the request: refuses what AWS would refuse already now."""
        self._enforce(account, inputs)
        return {**dict.fromkeys((*self.computed, *self._tags_all()), UNKNOWN), **without_none(inputs)}

    def create(self, account: Account, inputs: Properties) -> Created:
        """Make the resource; raises AWS's error if it refuses."""
        inputs = without_none(inputs)
        with account.store.held():
            self._enforce(account, inputs)
            id = self.make(account, inputs, self.shape.translate(inputs).params)
            record = self._note(account, id, inputs)
        return Created(id, self.started(account, record, new=True).state)

    def read(self, account: Account, id: str, inputs: Properties) -> Created:
        """The resource as it is now; id ``""`` if it is gone. An import has no ``inputs`` and gets all live ones."""
        with account.store.held():
            record = account.store.get(self.token, id)
            outputs = self._outputs(account, id, record.inputs) if record else None
            if record is None or outputs is None:
                return Created("", {})
            all = self.live(account, record)
        known = {key: all.get(key) for key in inputs} if inputs else all
        return Created(id, {**all, **record.outputs, **outputs}, without_none(known))

    def update(self, account: Account, id: str, inputs: Properties) -> Properties:
        """Change the resource in place; AWS's error if it is gone."""
        inputs = without_none(inputs)
        with account.store.held():
            record = account.store.get(self.token, id)
            if record is None or self._outputs(account, id, record.inputs) is None:
                raise ApiError(self.shape.service, "Describe", "NotFound", f"{id} does not exist")
            self._enforce(account, inputs)
            self.change(account, id, record.inputs, inputs)
            if self.shape.tags and self.in_moto:
                self.retag(account, record, inputs.get("tags") or {})
            record = self._note(account, id, inputs)
        return self.started(account, record, new=False).state

    def delete(self, account: Account, id: str) -> None:
        """Remove the resource; one that is gone already is fine, one in use is refused."""
        record = account.store.get(self.token, id)
        if record is None:
            return
        self._wait_for_users(account, record)
        self.stop(account, record)
        with account.store.held():
            try:
                self.remove(account, id, record.inputs)
            except ApiError as error:
                if not not_found(error):
                    raise
            account.store.remove(self.token, id)

    def refuse(self, code: str, message: str, operation: str | None = None) -> ApiError:
        """AWS's refusal of the request (``operation``: of another one than that which creates the resource)."""
        return ApiError(self.shape.service, operation or self.shape.operation, code, message)

    def _enforce(self, account: Account, inputs: Properties) -> None:
        message = broken(self.rules, inputs, account)
        if message:
            code, _, text = message.partition(": ")
            raise self.refuse(code, text)

    def _note(self, account: Account, id: str, inputs: Properties) -> Record:
        earlier = account.store.get(self.token, id)
        outputs = self._outputs(account, id, inputs) or {}
        record = Record(id, self.token, inputs, {**(earlier.outputs if earlier else {}), **outputs})
        account.store.put(record)
        return record

    def _outputs(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        try:
            found = self.look(account, id, inputs)
        except ApiError as error:
            if not_found(error):
                return None
            raise
        if found is None:
            return None
        outputs = {"region": inputs.get("region") or account.region, **found}
        return {**outputs, "tagsAll": inputs.get("tags") or {}} if self._tags_all() else outputs

    def user(self, account: Account, record: Record) -> str | None:
        """Why ``record`` cannot be removed now, in AWS's words; ``None`` if nothing uses it."""
        every = (other for token in self.users for other in account.store.all(token))
        found = next((other for other in every if other.id != record.id and mentions(other.inputs, record.id)), None)
        if found is None:
            return None
        what = self.shape.tagged or "resource"
        return f"The {what} '{record.id}' has dependencies and cannot be deleted: {found.id} uses it."

    def _wait_for_users(self, account: Account, record: Record) -> None:
        """As the provider does, try again while something that may be on its way out still uses the resource."""
        deadline = time.monotonic() + account.patience
        while (reason := self.user(account, record)) is not None:
            if time.monotonic() >= deadline or account.cancelled.wait(_LOOK_SECONDS):
                raise self.refuse("DependencyViolation", reason, self.shape.operation.replace("Create", "Delete"))

    def _tags_all(self) -> tuple[str, ...]:
        return ("tagsAll",) if self.shape.tags else ()


def mentions(value: Any, id: str) -> bool:
    """Whether ``id`` is one of the values in ``value``, at any depth."""
    if isinstance(value, dict):
        return any(mentions(item, id) for item in value.values())
    if isinstance(value, list):
        return any(mentions(item, id) for item in value)
    return bool(value == id)
