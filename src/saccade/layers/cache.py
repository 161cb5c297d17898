"""Keys and values of what has been read so far, so that each step projects only what is new."""

import torch
from torch import Tensor


class KeyValueCache:
    """Grows by `append`; room is doubled when it runs out, so a step copies only itself.

    Shapes: keys and values (B, H, T, D)
    """

    def __init__(self) -> None:
        self.length = 0
        self._key: Tensor | None = None
        self._value: Tensor | None = None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add these behind what is there, and give all of it."""
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            # A buffer that is written again would spoil what autograd remembers of it: keep tensors joined instead.
            self._key, self._value = self._joined(self._key, key), self._joined(self._value, value)
        else:
            self._key = self._written(self._key, key)
            self._value = self._written(self._value, value)
        self.length += key.shape[-2]
        return self.key, self.value

    @property
    def key(self) -> Tensor:
        """All keys so far."""
        assert self._key is not None
        return self._key[..., : self.length, :]

    @property
    def value(self) -> Tensor:
        """All values so far."""
        assert self._value is not None
        return self._value[..., : self.length, :]

    def select(self, rows: Tensor) -> "KeyValueCache":
        """A cache of these samples of the batch, in this order: what beam search does after each step."""
        chosen = KeyValueCache()
        chosen.length = self.length
        if self.length:
            chosen._key, chosen._value = self.key[rows], self.value[rows]
        return chosen

    def _joined(self, past: Tensor | None, new: Tensor) -> Tensor:
        return new if past is None else torch.cat((past[..., : self.length, :], new), -2)

    def _written(self, past: Tensor | None, new: Tensor) -> Tensor:
        end = self.length + new.shape[-2]
        if past is None or past.shape[-2] < end:
            room = new.new_empty(*new.shape[:-2], max(16, 2 * end), new.shape[-1])
            if past is not None:
                room[..., : self.length, :] = past[..., : self.length, :]
            past = room
        past[..., self.length : end, :] = new
        return past
