#include "textflag.h"

// Products of 16-bit integers in 512-bit registers. The two tiles differ only in how they add the products of pairs:
// with VNNI, a single instruction does this. The sums equal those of fixed6x16 and are scaled back in the same order,
// so the results are identical.

#define START \
	MOVQ a+0(FP), DI \
	MOVQ lda+8(FP), R10 \
	MOVQ b+16(FP), BX \
	MOVQ rows+24(FP), R8 \
	MOVQ columns+32(FP), R9 \
	MOVQ bias+40(FP), AX \
	MOVQ c+48(FP), DX \
	MOVQ ldc+56(FP), R11 \
	MOVQ k+64(FP), CX \
	SHLQ $1, R10 \
	SHLQ $2, R11 \
	LEAQ (R10)(R10*2), R12 \
	LEAQ (DI)(R12*1), SI \
	LEAQ (DI)(R12*2), R13 \
	LEAQ (SI)(R12*2), R12 \
	VPXORD Z0, Z0, Z0 \
	VPXORD Z1, Z1, Z1 \
	VPXORD Z2, Z2, Z2 \
	VPXORD Z3, Z3, Z3 \
	VPXORD Z4, Z4, Z4 \
	VPXORD Z5, Z5, Z5 \
	VPXORD Z6, Z6, Z6 \
	VPXORD Z7, Z7, Z7 \
	VPXORD Z8, Z8, Z8 \
	VPXORD Z9, Z9, Z9 \
	VPXORD Z10, Z10, Z10 \
	VPXORD Z11, Z11, Z11 \
	VPXORD Z12, Z12, Z12 \
	VPXORD Z13, Z13, Z13 \
	VPXORD Z14, Z14, Z14 \
	VPXORD Z15, Z15, Z15 \
	VPXORD Z16, Z16, Z16 \
	VPXORD Z17, Z17, Z17 \
	VPXORD Z18, Z18, Z18 \
	VPXORD Z19, Z19, Z19 \
	VPXORD Z20, Z20, Z20 \
	VPXORD Z21, Z21, Z21 \
	VPXORD Z22, Z22, Z22 \
	VPXORD Z23, Z23, Z23

#define NEXT \
	ADDQ $8, DI \
	ADDQ $8, SI \
	ADDQ $8, R13 \
	ADDQ $8, R12 \
	ADDQ $256, BX \
	SUBQ $4, CX

// PAIRS multiplies a pair of numbers of a row by the pairs in two registers of columns, and adds the products to two
// sums.
#define PAIRS(a, pair, low, high) \
	VPBROADCASTD a, pair \
	VPDPWSSD Z24, pair, low \
	VPDPWSSD Z25, pair, high

// APART is PAIRS without VNNI. It uses one instruction for the products and another for the sums.
#define APART(a, pair, low, high) \
	VPBROADCASTD a, pair \
	VPMADDWD Z24, pair, Z30 \
	VPMADDWD Z25, pair, Z31 \
	VPADDD Z30, low, low \
	VPADDD Z31, high, high

#define STORE(low, high) \
	VBROADCASTSS (R8), Z26 \
	VCVTDQ2PS low, low \
	VCVTDQ2PS high, high \
	VMULPS Z26, low, low \
	VMULPS Z26, high, high \
	VFMADD213PS Z28, Z24, low \
	VFMADD213PS Z29, Z25, high \
	VMOVUPS low, (DX) \
	VMOVUPS high, 64(DX) \
	ADDQ $4, R8 \
	ADDQ R11, DX

#define FINISH \
	VMOVUPS (R9), Z24 \
	VMOVUPS 64(R9), Z25 \
	VMOVUPS (AX), Z28 \
	VMOVUPS 64(AX), Z29 \
	STORE(Z0, Z1) \
	STORE(Z2, Z3) \
	STORE(Z4, Z5) \
	STORE(Z6, Z7) \
	STORE(Z8, Z9) \
	STORE(Z10, Z11) \
	STORE(Z12, Z13) \
	STORE(Z14, Z15) \
	STORE(Z16, Z17) \
	STORE(Z18, Z19) \
	STORE(Z20, Z21) \
	STORE(Z22, Z23) \
	VZEROUPPER

// func fixedVNNI12x32(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)
TEXT ·fixedVNNI12x32(SB), NOSPLIT, $0-72
	START

step:
	VMOVDQU32 (BX), Z24
	VMOVDQU32 64(BX), Z25
	PAIRS((DI), Z26, Z0, Z1)
	PAIRS((DI)(R10*1), Z27, Z2, Z3)
	PAIRS((DI)(R10*2), Z28, Z4, Z5)
	PAIRS((SI), Z29, Z6, Z7)
	PAIRS((SI)(R10*1), Z30, Z8, Z9)
	PAIRS((SI)(R10*2), Z31, Z10, Z11)
	PAIRS((R13), Z26, Z12, Z13)
	PAIRS((R13)(R10*1), Z27, Z14, Z15)
	PAIRS((R13)(R10*2), Z28, Z16, Z17)
	PAIRS((R12), Z29, Z18, Z19)
	PAIRS((R12)(R10*1), Z30, Z20, Z21)
	PAIRS((R12)(R10*2), Z31, Z22, Z23)
	VMOVDQU32 128(BX), Z24
	VMOVDQU32 192(BX), Z25
	PAIRS(4(DI), Z26, Z0, Z1)
	PAIRS(4(DI)(R10*1), Z27, Z2, Z3)
	PAIRS(4(DI)(R10*2), Z28, Z4, Z5)
	PAIRS(4(SI), Z29, Z6, Z7)
	PAIRS(4(SI)(R10*1), Z30, Z8, Z9)
	PAIRS(4(SI)(R10*2), Z31, Z10, Z11)
	PAIRS(4(R13), Z26, Z12, Z13)
	PAIRS(4(R13)(R10*1), Z27, Z14, Z15)
	PAIRS(4(R13)(R10*2), Z28, Z16, Z17)
	PAIRS(4(R12), Z29, Z18, Z19)
	PAIRS(4(R12)(R10*1), Z30, Z20, Z21)
	PAIRS(4(R12)(R10*2), Z31, Z22, Z23)
	NEXT
	JNZ  step

	FINISH
	RET

// func fixed12x32(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)
TEXT ·fixed12x32(SB), NOSPLIT, $0-72
	START

step:
	VMOVDQU32 (BX), Z24
	VMOVDQU32 64(BX), Z25
	APART((DI), Z26, Z0, Z1)
	APART((DI)(R10*1), Z27, Z2, Z3)
	APART((DI)(R10*2), Z28, Z4, Z5)
	APART((SI), Z29, Z6, Z7)
	APART((SI)(R10*1), Z26, Z8, Z9)
	APART((SI)(R10*2), Z27, Z10, Z11)
	APART((R13), Z28, Z12, Z13)
	APART((R13)(R10*1), Z29, Z14, Z15)
	APART((R13)(R10*2), Z26, Z16, Z17)
	APART((R12), Z27, Z18, Z19)
	APART((R12)(R10*1), Z28, Z20, Z21)
	APART((R12)(R10*2), Z29, Z22, Z23)
	VMOVDQU32 128(BX), Z24
	VMOVDQU32 192(BX), Z25
	APART(4(DI), Z26, Z0, Z1)
	APART(4(DI)(R10*1), Z27, Z2, Z3)
	APART(4(DI)(R10*2), Z28, Z4, Z5)
	APART(4(SI), Z29, Z6, Z7)
	APART(4(SI)(R10*1), Z26, Z8, Z9)
	APART(4(SI)(R10*2), Z27, Z10, Z11)
	APART(4(R13), Z28, Z12, Z13)
	APART(4(R13)(R10*1), Z29, Z14, Z15)
	APART(4(R13)(R10*2), Z26, Z16, Z17)
	APART(4(R12), Z27, Z18, Z19)
	APART(4(R12)(R10*1), Z28, Z20, Z21)
	APART(4(R12)(R10*2), Z29, Z22, Z23)
	NEXT
	JNZ  step

	FINISH
	RET
