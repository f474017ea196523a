"""Small sounds as data URLs, built by hand: valid containers around silence."""

from __future__ import annotations

import struct
import wave
from base64 import b64encode
from io import BytesIO

RATE = 8000


def data_url(data: bytes, mime: str = "audio/wav") -> str:
    return f"data:{mime};base64,{b64encode(data).decode()}"


def wav(samples: int) -> bytes:
    """Mono, 16 bits, 8,000 samples a second."""
    file = BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(b"\0\0" * samples)
    return file.getvalue()


def mp3(frames: int) -> bytes:
    """MPEG-1 layer III, 128 kbit/s, 44.1 kHz: 1,152 samples in a frame of 417 bytes."""
    return (b"\xff\xfb\x90\x00" + bytes(413)) * frames


def ogg_opus(samples: int) -> bytes:
    """48,000 samples a second."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
    tags = b"OpusTags" + struct.pack("<II", 0, 0)
    return _page(2, 0, 0, head) + _page(0, 0, 1, tags) + _page(4, samples, 2, bytes(8))


def mp4(seconds: int) -> bytes:
    """A movie header that says how long it is."""
    header = struct.pack(">IIIII", 0, 0, 0, 1000, seconds * 1000) + bytes(80)
    return _atom(b"ftyp", b"M4A \0\0\0\0") + _atom(b"moov", _atom(b"mvhd", header))


def _page(flags: int, granule: int, sequence: int, packet: bytes) -> bytes:
    header = struct.pack("<4sBBqIIIB", b"OggS", 0, flags, granule, 1, sequence, 0, 1)
    return header + bytes([len(packet)]) + packet


def _atom(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(data), name) + data
