"""The sizes of Azure's machines that scripts name, as `supported_vmsizes` lists them. On the embedded engine a size is a wish."""

from dataclasses import dataclass

from roost.domain.compute import Machine

DEFAULT_SIZE = "STANDARD_NC6"
"""The default of the Azure ML SDK v1."""


@dataclass(frozen=True)
class Size:
    name: str
    cores: int
    memory_gb: float
    gpus: int
    disk_mb: int


SIZES = tuple(
    Size(*row)
    for row in (
        ("Standard_A1_v2", 1, 2.0, 0, 10240),
        ("Standard_A2_v2", 2, 4.0, 0, 20480),
        ("Standard_A4_v2", 4, 8.0, 0, 40960),
        ("Standard_D1_v2", 1, 3.5, 0, 51200),
        ("Standard_D2_v2", 2, 7.0, 0, 102400),
        ("Standard_D3_v2", 4, 14.0, 0, 204800),
        ("Standard_D4_v2", 8, 28.0, 0, 409600),
        ("Standard_D11_v2", 2, 14.0, 0, 102400),
        ("Standard_D12_v2", 4, 28.0, 0, 204800),
        ("Standard_D13_v2", 8, 56.0, 0, 409600),
        ("Standard_D14_v2", 16, 112.0, 0, 819200),
        ("Standard_DS1_v2", 1, 3.5, 0, 7168),
        ("Standard_DS2_v2", 2, 7.0, 0, 14336),
        ("Standard_DS3_v2", 4, 14.0, 0, 28672),
        ("Standard_DS4_v2", 8, 28.0, 0, 57344),
        ("Standard_DS5_v2", 16, 56.0, 0, 114688),
        ("Standard_DS11_v2", 2, 14.0, 0, 28672),
        ("Standard_DS12_v2", 4, 28.0, 0, 57344),
        ("Standard_DS13_v2", 8, 56.0, 0, 114688),
        ("Standard_DS14_v2", 16, 112.0, 0, 229376),
        ("Standard_DS15_v2", 20, 140.0, 0, 286720),
        ("Standard_D2s_v3", 2, 8.0, 0, 16384),
        ("Standard_D4s_v3", 4, 16.0, 0, 32768),
        ("Standard_D8s_v3", 8, 32.0, 0, 65536),
        ("Standard_D16s_v3", 16, 64.0, 0, 131072),
        ("Standard_D32s_v3", 32, 128.0, 0, 262144),
        ("Standard_E4s_v3", 4, 32.0, 0, 65536),
        ("Standard_E8s_v3", 8, 64.0, 0, 131072),
        ("Standard_E16s_v3", 16, 128.0, 0, 262144),
        ("Standard_F2s_v2", 2, 4.0, 0, 16384),
        ("Standard_F4s_v2", 4, 8.0, 0, 32768),
        ("Standard_F8s_v2", 8, 16.0, 0, 65536),
        ("Standard_F16s_v2", 16, 32.0, 0, 131072),
        ("Standard_F32s_v2", 32, 64.0, 0, 262144),
        ("Standard_F72s_v2", 72, 144.0, 0, 589824),
        ("Standard_M64s", 64, 1024.0, 0, 2097152),
        ("Standard_NC6", 6, 56.0, 1, 389120),
        ("Standard_NC12", 12, 112.0, 2, 696320),
        ("Standard_NC24", 24, 224.0, 4, 1474560),
        ("Standard_NC24r", 24, 224.0, 4, 1474560),
        ("Standard_NC6s_v2", 6, 112.0, 1, 753664),
        ("Standard_NC12s_v2", 12, 224.0, 2, 1509376),
        ("Standard_NC24s_v2", 24, 448.0, 4, 3018752),
        ("Standard_NC6s_v3", 6, 112.0, 1, 753664),
        ("Standard_NC12s_v3", 12, 224.0, 2, 1509376),
        ("Standard_NC24s_v3", 24, 448.0, 4, 3018752),
        ("Standard_NC24rs_v3", 24, 448.0, 4, 3018752),
        ("Standard_NC4as_T4_v3", 4, 28.0, 1, 180224),
        ("Standard_NC8as_T4_v3", 8, 56.0, 1, 360448),
        ("Standard_NC16as_T4_v3", 16, 110.0, 1, 360448),
        ("Standard_NC64as_T4_v3", 64, 440.0, 4, 2883584),
        ("Standard_NC24ads_A100_v4", 24, 220.0, 1, 65536),
        ("Standard_NC48ads_A100_v4", 48, 440.0, 2, 131072),
        ("Standard_NC96ads_A100_v4", 96, 880.0, 4, 262144),
        ("Standard_ND6s", 6, 112.0, 1, 753664),
        ("Standard_ND40rs_v2", 40, 672.0, 8, 2969600),
        ("Standard_ND96asr_v4", 96, 900.0, 8, 6144000),
        ("Standard_NV6", 6, 56.0, 1, 389120),
        ("Standard_NV12", 12, 112.0, 2, 696320),
        ("Standard_NV24", 24, 224.0, 4, 1474560),
    )
)
_BY_NAME = {size.name.lower(): size for size in SIZES}


def find(name: str) -> Size | None:
    """By name, in any case; None when it is not in the table."""
    return _BY_NAME.get(name.lower())


def beyond(cores: float, memory_gb: float, gpus: int, machine: Machine) -> str:
    """A sentence when a replica's size exceeds this machine: the request and the machine's size; else empty."""
    asked = [
        *([f"{cores:g} cores"] if cores > machine.cores else []),
        *([f"{memory_gb:g} GB"] if memory_gb > machine.memory_gb else []),
        *([_cards(gpus)] if gpus > machine.gpus else []),
    ]
    there = _words(machine.cores, machine.memory_gb, machine.gpus)
    return f"{' and '.join(asked)} is a wish here: replicas share this machine ({there})." if asked else ""


def mapping(vm_size: str, machine: Machine) -> str:
    """A sentence with the requested size and the machine's size."""
    size = find(vm_size)
    wish = f" ({_words(size.cores, size.memory_gb, size.gpus)})" if size else ""
    there = _words(machine.cores, machine.memory_gb, machine.gpus)
    return f"{vm_size}{wish} is a wish here: nodes share this machine ({there})."


def _words(cores: int, memory_gb: float, gpus: int) -> str:
    return f"{cores} core{'s' if cores != 1 else ''}, {memory_gb:g} GB, {_cards(gpus)}"


def _cards(gpus: int) -> str:
    return "no GPU" if not gpus else "1 GPU" if gpus == 1 else f"{gpus} GPUs"
