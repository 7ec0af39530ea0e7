"""2^x for x <= 0 as a polynomial, in whole registers.

The C library's exp is a call per element; this one is straight-line code. With n the nearest whole
number to x, 2^x = 2^n 2^r and \\|r\\| <= 1/2. Adding 1.5 * 2^(mantissa bits) rounds to n and leaves n in
the low bits, from where it is added to the exponent of 2^r; r = x - n is exact. Whoever wants
exp(x) multiplies by log2(e) what it multiplies anyway. In float32 the polynomial is the one of degree
5 with the smallest largest relative error, 9.2e-8, that is 1 at 0; in float64 the one of degree 11
through the Chebyshev points, whose error of 4.4e-18 is below rounding. Results below the smallest
normal number are 0.
"""

from __future__ import annotations

from llvmlite import ir

from simlabel._utils.kernels._lanes import Lanes

LOG2E = 1.4426950408889634

# highest power first
_POLYNOMIALS = {
    32: (
        0.0013264727208408544,
        0.009671512739885313,
        0.055507337441595084,
        0.24022242083811932,
        0.6931469775981037,
        1.0,
    ),
    64: (
        4.4561282667017547e-10,
        7.074191486699191e-09,
        1.0178054977346953e-07,
        1.321543254923449e-06,
        1.525273384671294e-05,
        0.00015403530463707106,
        0.0013333558146401143,
        0.009618129107587256,
        0.055504108664821646,
        0.2402265069591016,
        0.6931471805599453,
        1.0,
    ),
}
_MANTISSA_BITS = {32: 23, 64: 52}
_LOWEST = {32: -126.0, 64: -1022.0}


def power_of_two(lanes: Lanes, x: ir.Value) -> ir.Value:
    """2^x for x <= 0."""
    builder, mantissa = lanes.builder, _MANTISSA_BITS[lanes.bits]
    shift = lanes.constant(1.5 * 2.0**mantissa)
    shifted = builder.fadd(x, shift)
    r = builder.fsub(x, builder.fsub(shifted, shift))
    p = lanes.constant(_POLYNOMIALS[lanes.bits][0])
    for factor in _POLYNOMIALS[lanes.bits][1:]:
        p = lanes.times_plus(p, r, lanes.constant(factor))
    n = builder.shl(builder.bitcast(shifted, lanes.integers), lanes.integer(mantissa))
    scaled = builder.bitcast(builder.add(builder.bitcast(p, lanes.integers), n), lanes.type)
    enough = builder.fcmp_unordered(">=", x, lanes.constant(_LOWEST[lanes.bits]))
    return builder.select(enough, scaled, lanes.constant(0.0))
