"""Motifs of drawn covers, each in a square of 24 units around the origin.

Shapes are SVG: circles, and paths of straight lines (the commands M, L, H, V, h, v, l and z), which the PNG draws as
well (``images``). Their classes name colours: ``foil``, ``cloth`` for what is cut out, and ``rule`` for a line.
"""

from collections.abc import Mapping
from typing import Final

MOTIFS: Final[Mapping[str, str]] = {
    "bat": '<path class="foil" d="M0-2L2-6L3-2L12-7L10 4L6 2L3 7L0 4L-3 7L-6 2L-10 4L-12-7L-3-2L-2-6z"/>',
    "bolt": '<path class="foil" d="M3-12L-8 2H-1L-4 12L8-3H1z"/>',
    "book": '<path class="foil" d="M-12-8L-1-4V9L-12 5zM12-8L1-4V9L12 5z"/>',
    "bubble": '<path class="foil" d="M-11-10h22V5H0L-5 11V5h-6z"/>',
    "burst": (
        '<path class="foil" d="M0-12L3-5L9-9L6-3L12 0L6 3L9 9L3 5L0 12L-3 5L-9 9L-6 3L-12 0L-6-3L-9-9L-3-5z"/>'
    ),
    "candle": '<path class="foil" d="M-4-1h8V12h-8zM0-12L3-7L0-3L-3-7z"/>',
    "compass": (
        '<circle class="foil" cx="0" cy="0" r="11"/><circle class="cloth" cx="0" cy="0" r="9.5"/>'
        '<path class="foil" d="M0-9L3 0L0 9L-3 0z"/>'
    ),
    "crescent": (
        '<path class="foil" d="M9.6 5.3L8.2 7.4L6.2 9.1L4 10.3L1.5 10.9L-1.1 10.9L-3.6 10.4L-5.9 9.3'
        'L-7.9 7.7L-9.4 5.7L-10.5 3.3L-11 0.8L-10.9-1.7L-10.2-4.2L-8.9-6.4L-7.2-8.3L-5.1-9.8L-2.7-10.7'
        'L-0.1-11L-1.7-9.7L-3-8.1L-4-6.2L-4.4-4.1L-4.5-2.1L-4 0L-3.1 1.9L-1.9 3.5L-0.3 4.9L1.6 5.9'
        'L3.6 6.4L5.7 6.5L7.7 6.1z"/>'
    ),
    "crown": '<path class="foil" d="M-11 9V-6L-5 1L0-9L5 1L11-6V9z"/>',
    "dagger": '<path class="foil" d="M0-12L2-9V3H6V5.5H2V12H-2V5.5H-6V3H-2V-9z"/>',
    "eye": (
        '<path class="foil" d="M-12 0L-5-5L0-6.5L5-5L12 0L5 5L0 6.5L-5 5z"/>'
        '<circle class="cloth" cx="0" cy="0" r="4.5"/><circle class="foil" cx="0" cy="0" r="2"/>'
    ),
    "flask": '<path class="foil" d="M-4-12h8v2H2.5V-3L10 9V12H-10V9L-2.5-3V-10H-4z"/>',
    "head": '<circle class="foil" cx="0" cy="-6" r="5.5"/><path class="foil" d="M-10 11V7L-5 1H5L10 7V11z"/>',
    "heart": (
        '<circle class="foil" cx="-5" cy="-4" r="6"/><circle class="foil" cx="5" cy="-4" r="6"/>'
        '<path class="foil" d="M-10-1L0-6L10-1L0 11z"/>'
    ),
    "hourglass": '<path class="foil" d="M-9-12H9v2.5H-9zM-9 9.5H9V12H-9zM-7-8H7L1.2 0L7 8H-7L-1.2 0z"/>',
    "key": (
        '<circle class="foil" cx="0" cy="-6.5" r="5.5"/><circle class="cloth" cx="0" cy="-6.5" r="2.5"/>'
        '<path class="foil" d="M-1.3-1.5h2.6V12h-2.6zM1.3 4h4v2.3h-4zM1.3 8.5h3v2.3h-3z"/>'
    ),
    "keyhole": '<circle class="foil" cx="0" cy="-5" r="6"/><path class="foil" d="M-2.5-2h5L6 11H-6z"/>',
    "kite": '<path class="foil" d="M0-12L8-3L0 8L-8-3z"/><path class="rule" d="M0 8L3 12"/>',
    "lamp": (
        '<circle class="foil" cx="0" cy="-3" r="8"/><path class="foil" d="M-3 5h6v3h-6zM-2 9h4v2h-4z"/>'
    ),
    "leaf": '<path class="foil" d="M0-12L5-7L7-1L5 4L.7 7V12H-.7V7L-5 4L-7-1L-5-7z"/><path class="rule" d="M0 7V-6"/>',
    "lens": (
        '<circle class="foil" cx="-2" cy="-2" r="9"/><circle class="cloth" cx="-2" cy="-2" r="6.5"/>'
        '<path class="foil" d="M3 5L5 3L12 10L10 12z"/>'
    ),
    "letter": '<path class="foil" d="M-12-8H12V8H-12z"/><path class="cloth" d="M-12-8L0 2L12-8V-6.2L0 4L-12-6.2z"/>',
    "mountains": (
        '<path class="foil" d="M-12 10L-4-6L1 3L4-1L12 10z"/><circle class="foil" cx="6" cy="-8" r="3"/>'
    ),
    "orbit": (
        '<path class="rule" d="M-12 0L-6-4H6L12 0L6 4H-6zM0-12L4-6V6L0 12L-4 6V-6z"/>'
        '<circle class="foil" cx="0" cy="0" r="3"/>'
    ),
    "paper boat": '<path class="foil" d="M-12 2H12L7 10H-7zM-6 0L0-10L6 0z"/>',
    "pawn": (
        '<circle class="foil" cx="0" cy="-7.5" r="4"/>'
        '<path class="foil" d="M-5-3H5V-1H2.5L5 8H7V12H-7V8H-5L-2.5-1H-5z"/>'
    ),
    "planet": '<circle class="foil" cx="0" cy="0" r="8"/><path class="rule" d="M-12 5L12-5"/>',
    "portrait": (
        '<circle class="foil" cx="0" cy="0" r="11.5"/><circle class="cloth" cx="0" cy="0" r="10"/>'
        '<circle class="foil" cx="0" cy="-3" r="3.5"/><path class="foil" d="M-6 7V5L-3 1.5H3L6 5V7z"/>'
    ),
    "quill": '<path class="foil" d="M-9 12L-4 1L9-12V-5L-1 5L-7 12z"/>',
    "rocket": '<path class="foil" d="M0-12L4.5-5V6H-4.5V-5zM-6 0V7L-10 11V5zM6 0V7L10 11V5zM-2 8h4L0 12z"/>',
    "ship": '<path class="foil" d="M-12 5H12L8 11H-8zM-1-12H1V4H-1zM-9 3V-2L-2-10V3zM2 3V-9L9 3z"/>',
    "sprout": '<path class="foil" d="M-1 12V2L-10-3V-9L0-2L10-9V-3L1 2V12z"/>',
    "star": '<path class="foil" d="M0-12L3-4H11L5 1L7 10L0 5L-7 10L-5 1L-11-4H-3z"/>',
    "temple": '<path class="foil" d="M-12-4L0-12L12-4zM-10-2h4V7h-4zM-2-2h4V7h-4zM6-2h4V7H6zM-12 9h24v3h-24z"/>',
    "tower": '<path class="foil" d="M-9 12V-2L-7-4V-10H-3.5V-7H-1.7V-10H1.7V-7H3.5V-10H7V-4L9-2V12H3V5H-3V12z"/>',
}  # fmt: skip
