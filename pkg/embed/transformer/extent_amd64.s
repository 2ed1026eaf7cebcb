#include "textflag.h"

// Functions that determine the scale of a row and convert the row to 16-bit integers. The versions for 256-bit and for
// 512-bit registers add numbers in the same order.

DATA magnitude<>+0(SB)/4, $0x7fffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

// EXTENT sets X0 to the sum of the numbers in Y0 and Y1, and X2 to the largest of the numbers in Y2 and Y3.
#define EXTENT \
	VADDPS Y1, Y0, Y0 \
	VMAXPS Y3, Y2, Y2 \
	VEXTRACTF128 $1, Y0, X1 \
	VEXTRACTF128 $1, Y2, X3 \
	VADDPS X1, X0, X0 \
	VMAXPS X3, X2, X2 \
	VMOVHLPS X0, X0, X1 \
	VMOVHLPS X2, X2, X3 \
	VADDPS X1, X0, X0 \
	VMAXPS X3, X2, X2 \
	VMOVSHDUP X0, X1 \
	VMOVSHDUP X2, X3 \
	VADDSS X1, X0, X0 \
	VMAXSS X3, X2, X2

// func extent8(x *float32, n int) (squares, top float32)
TEXT ·extent8(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS magnitude<>(SB), Y15
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	SUBQ $32, CX
	JLT  last

more:
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS 64(DI), Y6
	VMOVUPS 96(DI), Y7
	VFMADD231PS Y4, Y4, Y0
	VFMADD231PS Y5, Y5, Y1
	VFMADD231PS Y6, Y6, Y8
	VFMADD231PS Y7, Y7, Y9
	VANDPS Y15, Y4, Y4
	VANDPS Y15, Y5, Y5
	VANDPS Y15, Y6, Y6
	VANDPS Y15, Y7, Y7
	VMAXPS Y4, Y2, Y2
	VMAXPS Y5, Y3, Y3
	VMAXPS Y6, Y2, Y2
	VMAXPS Y7, Y3, Y3
	ADDQ $128, DI
	SUBQ $32, CX
	JGE  more

last:
	ADDQ $32, CX
	JZ   sum
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VFMADD231PS Y4, Y4, Y0
	VFMADD231PS Y5, Y5, Y1
	VANDPS Y15, Y4, Y4
	VANDPS Y15, Y5, Y5
	VMAXPS Y4, Y2, Y2
	VMAXPS Y5, Y3, Y3

sum:
	VADDPS Y8, Y0, Y0
	VADDPS Y9, Y1, Y1
	EXTENT
	VMOVSS X0, squares+16(FP)
	VMOVSS X2, top+20(FP)
	VZEROUPPER
	RET

// func extent16(x *float32, n int) (squares, top float32)
TEXT ·extent16(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VPBROADCASTD magnitude<>(SB), Z15
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	SUBQ $32, CX
	JLT  last

more:
	VMOVUPS (DI), Z4
	VMOVUPS 64(DI), Z5
	VFMADD231PS Z4, Z4, Z0
	VFMADD231PS Z5, Z5, Z1
	VPANDD Z15, Z4, Z4
	VPANDD Z15, Z5, Z5
	VMAXPS Z4, Z2, Z2
	VMAXPS Z5, Z3, Z3
	ADDQ $128, DI
	SUBQ $32, CX
	JGE  more

last:
	ADDQ $32, CX
	JZ   sum
	VMOVUPS (DI), Z4
	VFMADD231PS Z4, Z4, Z0
	VPANDD Z15, Z4, Z4
	VMAXPS Z4, Z2, Z2

sum:
	VADDPS Z1, Z0, Z0
	VMAXPS Z3, Z2, Z2
	VEXTRACTF64X4 $1, Z0, Y1
	VEXTRACTF64X4 $1, Z2, Y3
	EXTENT
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
	VPACKSSDW Y1, Y0, Y0 // interleaves the halves of Y0 and Y1; VPERMQ restores the order
	VPERMQ $0xD8, Y0, Y0
	VMOVDQU Y0, (SI)
	ADDQ $64, DI
	ADDQ $32, SI
	SUBQ $16, CX
	JNZ  more
	VZEROUPPER
	RET

// func round16(to *int16, x *float32, n int, factor float32)
TEXT ·round16(SB), NOSPLIT, $0-28
	MOVQ to+0(FP), SI
	MOVQ x+8(FP), DI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Z15

more:
	VMULPS (DI), Z15, Z0
	VCVTPS2DQ Z0, Z0
	VPMOVSDW Z0, (SI)
	ADDQ $64, DI
	ADDQ $32, SI
	SUBQ $16, CX
	JNZ  more
	VZEROUPPER
	RET
