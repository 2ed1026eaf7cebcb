#include "textflag.h"

// Products of 16-bit integers, summed in 32 bits. One instruction multiplies twice as many integers as it could
// multiply floats.

#define ROW(a, even, odd, low, high) \
	VPBROADCASTD a, even \
	VPMADDWD Y12, even, odd \
	VPMADDWD Y13, even, even \
	VPADDD odd, low, low \
	VPADDD even, high, high

#define STORE(low, high) \
	VBROADCASTSS (R8), Y14 \
	VCVTDQ2PS low, low \
	VCVTDQ2PS high, high \
	VMULPS Y14, low, low \
	VMULPS Y14, high, high \
	VFMADD213PS (AX), Y12, low \
	VFMADD213PS 32(AX), Y13, high \
	VMOVUPS low, (DX) \
	VMOVUPS high, 32(DX) \
	ADDQ $4, R8 \
	ADDQ R11, DX

// func fixed6x16(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)
TEXT ·fixed6x16(SB), NOSPLIT, $0-72
	MOVQ a+0(FP), DI
	MOVQ lda+8(FP), R10
	MOVQ b+16(FP), BX
	MOVQ rows+24(FP), R8
	MOVQ columns+32(FP), R9
	MOVQ bias+40(FP), AX
	MOVQ c+48(FP), DX
	MOVQ ldc+56(FP), R11
	MOVQ k+64(FP), CX
	SHLQ $1, R10
	SHLQ $2, R11
	LEAQ (R10)(R10*2), R12
	LEAQ (DI)(R12*1), SI

	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11

step:
	VMOVDQU (BX), Y12
	VMOVDQU 32(BX), Y13
	ROW((DI), Y14, Y15, Y0, Y1)
	ROW((DI)(R10*1), Y14, Y15, Y2, Y3)
	ROW((DI)(R10*2), Y14, Y15, Y4, Y5)
	ROW((SI), Y14, Y15, Y6, Y7)
	ROW((SI)(R10*1), Y14, Y15, Y8, Y9)
	ROW((SI)(R10*2), Y14, Y15, Y10, Y11)
	VMOVDQU 64(BX), Y12
	VMOVDQU 96(BX), Y13
	ROW(4(DI), Y14, Y15, Y0, Y1)
	ROW(4(DI)(R10*1), Y14, Y15, Y2, Y3)
	ROW(4(DI)(R10*2), Y14, Y15, Y4, Y5)
	ROW(4(SI), Y14, Y15, Y6, Y7)
	ROW(4(SI)(R10*1), Y14, Y15, Y8, Y9)
	ROW(4(SI)(R10*2), Y14, Y15, Y10, Y11)
	ADDQ $8, DI
	ADDQ $8, SI
	ADDQ $128, BX
	SUBQ $4, CX
	JNZ  step

	VMOVUPS (R9), Y12
	VMOVUPS 32(R9), Y13
	STORE(Y0, Y1)
	STORE(Y2, Y3)
	STORE(Y4, Y5)
	STORE(Y6, Y7)
	STORE(Y8, Y9)
	STORE(Y10, Y11)
	VZEROUPPER
	RET
