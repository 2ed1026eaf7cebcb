#include "textflag.h"

// Products of 16-bit integers, summed in 32 bits. Go's assembler lacks some of the instructions.

// SMLAL adds the products of the lower four numbers of n and m to d; SMLAL2 those of the upper four.
#define SMLAL(m, n, d) WORD $(0x0E608000 | m<<16 | n<<5 | d)
#define SMLAL2(m, n, d) WORD $(0x4E608000 | m<<16 | n<<5 | d)

// SCVTF converts four integers to floats, and FMUL multiplies four floats.
#define SCVTF(n, d) WORD $(0x4E21D800 | n<<5 | d)
#define FMUL(m, n, d) WORD $(0x6E20DC00 | m<<16 | n<<5 | d)

#define CLEAR(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16 \
	VEOR b.B16, b.B16, b.B16 \
	VEOR c.B16, c.B16, c.B16 \
	VEOR d.B16, d.B16, d.B16

// PAIRS multiplies a pair of numbers of a row by eight pairs of columns. Each of the four sums has separate parts for
// the first and the second number.
#define PAIRS(pointer, d0, d1, d2, d3) \
	VLD1R.P 4(pointer), [V18.S4] \
	SMLAL(18, 16, d0) \
	SMLAL2(18, 16, d1) \
	SMLAL(18, 17, d2) \
	SMLAL2(18, 17, d3)

// STORE scales the sums of a row back and stores them. i0 and i2 are the numbers of the registers v0 and v2.
#define STORE(v0, v1, v2, v3, i0, i2) \
	VADDP v1.S4, v0.S4, v0.S4 \
	VADDP v3.S4, v2.S4, v2.S4 \
	VLD1R.P 4(R3), [V24.S4] \
	SCVTF(i0, i0) \
	SCVTF(i2, i2) \
	FMUL(24, i0, i0) \
	FMUL(24, i2, i2) \
	VMOV V22.B16, V25.B16 \
	VMOV V23.B16, V26.B16 \
	VFMLA V20.S4, v0.S4, V25.S4 \
	VFMLA V21.S4, v2.S4, V26.S4 \
	VST1 [V25.S4, V26.S4], (R6) \
	ADD R11, R6

// func fixed4x8(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)
TEXT ·fixed4x8(SB), NOSPLIT, $0-72
	MOVD a+0(FP), R7
	MOVD lda+8(FP), R1
	MOVD b+16(FP), R2
	MOVD rows+24(FP), R3
	MOVD columns+32(FP), R4
	MOVD bias+40(FP), R5
	MOVD c+48(FP), R6
	MOVD ldc+56(FP), R11
	MOVD k+64(FP), R12
	LSL  $1, R1
	LSL  $2, R11
	ADD  R1, R7, R8
	ADD  R1, R8, R9
	ADD  R1, R9, R10
	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	CLEAR(V8, V9, V10, V11)
	CLEAR(V12, V13, V14, V15)

step:
	VLD1.P 32(R2), [V16.H8, V17.H8]
	PAIRS(R7, 0, 1, 2, 3)
	PAIRS(R8, 4, 5, 6, 7)
	PAIRS(R9, 8, 9, 10, 11)
	PAIRS(R10, 12, 13, 14, 15)
	SUBS $2, R12
	BNE  step

	VLD1 (R4), [V20.S4, V21.S4]
	VLD1 (R5), [V22.S4, V23.S4]
	STORE(V0, V1, V2, V3, 0, 2)
	STORE(V4, V5, V6, V7, 4, 6)
	STORE(V8, V9, V10, V11, 8, 10)
	STORE(V12, V13, V14, V15, 12, 14)
	RET
