#include "textflag.h"

// Products of whole numbers of 16 bits, summed in 32: an instruction multiplies twice as many numbers as one of floats does.

DATA magnitude<>+0(SB)/4, $0x7fffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

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

// func extent8(x *float32, n int) (squares, top float32)
TEXT ·extent8(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS magnitude<>(SB), Y15
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

more:
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VFMADD231PS Y4, Y4, Y0
	VFMADD231PS Y5, Y5, Y1
	VANDPS Y15, Y4, Y4
	VANDPS Y15, Y5, Y5
	VMAXPS Y4, Y2, Y2
	VMAXPS Y5, Y3, Y3
	ADDQ $64, DI
	SUBQ $16, CX
	JNZ  more

	VADDPS Y1, Y0, Y0
	VMAXPS Y3, Y2, Y2
	VEXTRACTF128 $1, Y0, X1
	VEXTRACTF128 $1, Y2, X3
	VADDPS X1, X0, X0
	VMAXPS X3, X2, X2
	VMOVHLPS X0, X0, X1
	VMOVHLPS X2, X2, X3
	VADDPS X1, X0, X0
	VMAXPS X3, X2, X2
	VMOVSHDUP X0, X1
	VMOVSHDUP X2, X3
	VADDSS X1, X0, X0
	VMAXSS X3, X2, X2
	VMOVSS X0, squares+16(FP)
	VMOVSS X2, top+20(FP)
	VZEROUPPER
	RET

// func round8(to *int16, x *float32, n int, factor float32)
TEXT ·round8(SB), NOSPLIT, $0-28
	MOVQ to+0(FP), SI
	MOVQ x+8(FP), DI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Y15

more:
	VMULPS (DI), Y15, Y0
	VMULPS 32(DI), Y15, Y1
	VCVTPS2DQ Y0, Y0
	VCVTPS2DQ Y1, Y1
	VPACKSSDW Y1, Y0, Y0 // the halves of the two come out in turn
	VPERMQ $0xD8, Y0, Y0
	VMOVDQU Y0, (SI)
	ADDQ $64, DI
	ADDQ $32, SI
	SUBQ $16, CX
	JNZ  more
	VZEROUPPER
	RET
