"""Read the fields of Kafka's byte formats (Kafka's ``Readable`` and ``Schema``).

Numbers are big endian. In flexible versions of a format (KIP-482), lengths are varints and a structure ends with tagged
fields.
"""

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, get_type_hints

INT16, INT32 = struct.Struct(">h"), struct.Struct(">i")
SMALLEST_STRING = 2
"""Bytes of an empty string in versions that are not flexible."""
LONGEST_STRING = 0x7FFF
_Read = TypeVar("_Read")
_INT8, _INT64 = struct.Struct(">b"), struct.Struct(">q")
_UUID_BYTES = 16
_MOST_VARINT_BITS = 28
"""The shift of the last of at most five bytes of a 32-bit varint (``ByteUtils.readUnsignedVarint``)."""


class SchemaError(ValueError):
    """Bytes that do not have the format, or values that do not fit into it (Kafka's ``SchemaException``)."""


class Readable:
    """Reads one field after the other, never beyond the end.

    An array whose items cannot fit into the remaining bytes is an error, before memory is allocated for them.

    >>> Readable(bytes.fromhex("0001" "74"), "key").string("topic")
    't'
    >>> Readable(bytes.fromhex("02" "74"), "key", flexible=True).string("topic")
    't'
    """

    def __init__(self, data: bytes, what: str, *, flexible: bool = False) -> None:
        self._data = bytes(data)
        self._end = len(self._data)
        self._position = 0
        self.what = what
        """The name of the format in errors."""
        self.flexible = flexible

    @property
    def left(self) -> int:
        """Return the number of bytes that are not read yet."""
        return self._end - self._position

    def int8(self, field: str) -> int:
        """Read an 8-bit number."""
        return self._number(_INT8, field)

    def int16(self, field: str) -> int:
        """Read a 16-bit number."""
        return self._number(INT16, field)

    def int32(self, field: str) -> int:
        """Read a 32-bit number."""
        return self._number(INT32, field)

    def int64(self, field: str) -> int:
        """Read a 64-bit number."""
        return self._number(_INT64, field)

    def unsigned_varint(self, field: str) -> int:
        """Read a 32-bit number with seven bits in each byte, the lowest first."""
        at, value, shift = self._position, 0, 0
        while True:
            byte = self.raw(1, field)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > _MOST_VARINT_BITS:
                raise self.error(field, "varint of more than 5 bytes", at)

    def uuid(self, field: str) -> str:
        """Read a UUID and return it as Kafka prints it, in URL-safe base64."""
        return base64.urlsafe_b64encode(self.raw(_UUID_BYTES, field)).decode()[:22]

    def size(self, field: str, item_bytes: int, *, nullable: bool = False) -> int:
        """Read the length of an array whose items have at least ``item_bytes`` bytes; null has the length 0."""
        at = self._position
        size = self.unsigned_varint(field) - 1 if self.flexible else self.int32(field)
        if (size < 0 and not nullable) or size * item_bytes > self.left:
            raise self.error(field, f"array of {size} items, {self.left} bytes are left", at)
        return max(size, 0)

    def string(self, field: str) -> str:
        """Read a string that must not be null."""
        at = self._position
        value = self.nullable_string(field)
        if value is None:
            raise self.error(field, "string without a length", at)
        return value

    def nullable_string(self, field: str) -> str | None:
        """Read a string that may be null."""
        start = self._position
        length = self.unsigned_varint(field) - 1 if self.flexible else self.int16(field)
        if length < 0:
            return None
        if length > LONGEST_STRING:
            raise self.error(field, f"string of {length} bytes", start)
        at = self._position
        try:
            return self.raw(length, field).decode()
        except UnicodeDecodeError as problem:
            raise self.error(field, "string that is not UTF-8", at + problem.start) from problem

    def sized_bytes(self, field: str) -> bytes:
        """Read bytes that must not be null."""
        at = self._position
        value = self.nullable_bytes(field)
        if value is None:
            raise self.error(field, "bytes without a length", at)
        return value

    def nullable_bytes(self, field: str) -> bytes | None:
        """Read bytes that may be null."""
        length = self.unsigned_varint(field) - 1 if self.flexible else self.int32(field)
        return None if length < 0 else self.raw(length, field)

    def raw(self, length: int, field: str) -> bytes:
        """Read a number of bytes."""
        start = self._advance(length, field)
        return self._data[start : self._position]

    def int32s(self, field: str) -> tuple[int, ...]:
        """Read an array of 32-bit numbers."""
        count = self.size(field, INT32.size)
        return struct.unpack(f">{count}i", self.raw(count * INT32.size, field))

    def strings(self, field: str) -> tuple[str, ...]:
        """Read an array of strings."""
        smallest = 1 if self.flexible else SMALLEST_STRING
        return tuple(self.string(field) for _ in range(self.size(field, smallest)))

    def tagged_fields(
        self, known: "Mapping[int, tuple[str, Callable[[Readable, str], object]]] | None" = None
    ) -> dict[str, Any]:
        """Read the tagged fields at the end of a structure, which only flexible versions have; return them by name.

        ``known`` has, by tag, the name of a field and the function that reads it; other tags are skipped.
        """
        found: dict[str, Any] = {}
        if not self.flexible:
            return found
        for _ in range(self.unsigned_varint("tagged fields")):
            tag = self.unsigned_varint("tagged fields")
            field, read = (known or {}).get(tag, (f"tag {tag}", None))
            size = self.unsigned_varint(field)
            if size > self.left:
                raise self.error(field, f"{size} bytes expected", self._position, f", {self.left} are left")
            start = self._position
            if read is None:
                self._position += size
                continue
            found[field] = read(self, field)
            if self._position != start + size:
                raise self.error(field, f"{self._position - start} bytes in a field of {size}", start)
        return found

    def error(self, field: str, found: str, at: int, more: str = "") -> SchemaError:
        """Return an error with the field, the problem and its position."""
        return SchemaError(f"{self.what}: {field}: {found} at byte {at}{more}")

    def _number(self, layout: struct.Struct, field: str) -> int:
        start = self._advance(layout.size, field)
        value: int = layout.unpack_from(self._data, start)[0]
        return value

    def _advance(self, length: int, field: str) -> int:
        """Move behind so many bytes, and return where they begin."""
        start = self._position
        end = start + length
        if end > self._end:
            raise self.error(field, f"{length} bytes expected", start, f", {self.left} are left")
        self._position = end
        return start


Int8 = Annotated[int, Readable.int8]
Int32 = Annotated[int, Readable.int32]
Text = Annotated[str, Readable.string]
NullableText = Annotated[str | None, Readable.nullable_string]
Texts = Annotated[tuple[str, ...], Readable.strings]
"""Types of the fields of structures, with the functions that read them."""


def array_of(
    read: Callable[[Readable, str], _Read], item_bytes: int = 1, *, nullable: bool = False
) -> Callable[[Readable, str], tuple[_Read, ...]]:
    """Return the function that reads an array of items of at least so many bytes; null is read as empty."""
    return lambda reader, field: tuple(
        read(reader, field) for _ in range(reader.size(field, item_bytes, nullable=nullable))
    )


def structure(of: Callable[..., _Read], **kafka_names: str) -> Callable[[Readable, object], _Read]:
    r"""Return the function that reads a structure, whose fields all versions have, and skips tagged ones.

    The annotation of each field of the class has the function that reads it. ``kafka_names`` are the names in errors of
    fields that have other names in the class.

    >>> from typing import NamedTuple
    >>> Pair = NamedTuple("Pair", [("a", Int8), ("b", Int8)])
    >>> structure(Pair)(Readable(b"\1\2", "pair"), 0)
    Pair(a=1, b=2)
    """
    hints = get_type_hints(of, include_extras=True)
    fields = [(kafka_names.get(name, name), hint.__metadata__[0]) for name, hint in hints.items()]

    def read(reader: Readable, _: object) -> _Read:
        values = [read_field(reader, name) for name, read_field in fields]
        reader.tagged_fields()
        return of(*values)

    return read
