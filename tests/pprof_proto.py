"""The messages of pprof's ``profile.proto``, for protobuf itself to read what rlprof wrote.

Fields as in https://github.com/google/pprof/blob/main/proto/profile.proto: name, number and type.
"""

from __future__ import annotations

import gzip
from typing import Any, Final

PACKAGE: Final = "perftools.profiles"

MESSAGES: Final = {
    "ValueType": "type=1:int64 unit=2:int64",
    "Label": "key=1:int64 str=2:int64 num=3:int64 num_unit=4:int64",
    "Sample": "location_id=1:uint64* value=2:int64* label=3:Label*",
    "Mapping": "id=1:uint64 memory_start=2:uint64 memory_limit=3:uint64 file_offset=4:uint64 "
    "filename=5:int64 build_id=6:int64 has_functions=7:bool has_filenames=8:bool "
    "has_line_numbers=9:bool has_inline_frames=10:bool",
    "Line": "function_id=1:uint64 line=2:int64",
    "Location": "id=1:uint64 mapping_id=2:uint64 address=3:uint64 line=4:Line* is_folded=5:bool",
    "Function": "id=1:uint64 name=2:int64 system_name=3:int64 filename=4:int64 start_line=5:int64",
    "Profile": "sample_type=1:ValueType* sample=2:Sample* mapping=3:Mapping* location=4:Location* "
    "function=5:Function* string_table=6:string* drop_frames=7:int64 keep_frames=8:int64 "
    "time_nanos=9:int64 duration_nanos=10:int64 period_type=11:ValueType period=12:int64 "
    "comment=13:int64* default_sample_type=14:int64",
}


def parsed(document: bytes) -> Any:
    """The ``Profile`` in a gzipped document; protobuf refuses what is no message of that kind."""
    profile = _profile_class()()
    profile.ParseFromString(gzip.decompress(document))
    return profile


def in_words(profile: Any) -> str:
    """Everything in it with names in place of numbers, for people to look at."""
    text = profile.string_table
    functions = {entry.id: entry for entry in profile.function}
    places = {}
    for location in profile.location:
        (line,) = location.line
        function = functions[line.function_id]
        places[location.id] = f"{text[function.name]}:{line.line}"
    lines = [
        " ".join(
            f"{text[value_type.type]}/{text[value_type.unit]}" for value_type in profile.sample_type
        ),
        f"default: {text[profile.default_sample_type]}",
        f"period: {profile.period} {text[profile.period_type.type]}/{text[profile.period_type.unit]}",
        f"time: {profile.time_nanos} for {profile.duration_nanos}",
        *(f"comment: {text[comment]}" for comment in profile.comment),
        *(f"mapping {mapping.id}: {text[mapping.filename]}" for mapping in profile.mapping),
    ]
    for function in profile.function:
        names = (function.name, function.system_name, function.filename)
        lines.append(f"function {function.id}: {' | '.join(text[name] for name in names)}")
    for sample in profile.sample:
        labels = ", ".join(f"{text[label.key]}={text[label.str]}" for label in sample.label)
        stack = " < ".join(places[location_id] for location_id in sample.location_id)
        lines.append(f"{' '.join(map(str, sample.value))} [{labels}] {stack}")
    return "".join(f"{line}\n" for line in lines)


def _profile_class() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="profile.proto", package=PACKAGE, syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split():
            field_name, _, rest = text.partition("=")
            number, _, kind = rest.partition(":")
            field = message.field.add(name=field_name, number=int(number))
            field.label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in MESSAGES:
                field.type = kinds.TYPE_MESSAGE
                field.type_name = f".{PACKAGE}.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"{PACKAGE}.Profile")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)
