#include "textflag.h"

// func addRowsAVX2(sums *[256]int32, r *rows)
//
// The bytes of two rows are extended to words and interleaved, so that one instruction multiplies both by their weights
// and adds the products.
TEXT ·addRowsAVX2(SB), NOSPLIT, $0-16
	MOVQ sums+0(FP), DI
	MOVQ r+8(FP), SI
	MOVQ 0(SI), R8
	MOVQ 8(SI), R9
	MOVQ 16(SI), R10
	MOVQ 24(SI), R11
	VPBROADCASTD 32(SI), Y14 // the weights of the first two rows, repeated
	VPBROADCASTD 36(SI), Y15 // the weights of the other two rows, repeated
	XORQ CX, CX

loop:
	VPMOVSXBW (R8)(CX*1), Y0
	VPMOVSXBW (R9)(CX*1), Y1
	VPMOVSXBW (R10)(CX*1), Y2
	VPMOVSXBW (R11)(CX*1), Y3
	VPUNPCKLWD Y1, Y0, Y4 // numbers 0 to 3 and 8 to 11
	VPUNPCKHWD Y1, Y0, Y5 // numbers 4 to 7 and 12 to 15
	VPUNPCKLWD Y3, Y2, Y6
	VPUNPCKHWD Y3, Y2, Y7
	VPMADDWD Y14, Y4, Y4
	VPMADDWD Y14, Y5, Y5
	VPMADDWD Y15, Y6, Y6
	VPMADDWD Y15, Y7, Y7
	VPADDD Y6, Y4, Y4
	VPADDD Y7, Y5, Y5
	VPERM2I128 $0x20, Y5, Y4, Y6 // numbers 0 to 7
	VPERM2I128 $0x31, Y5, Y4, Y7 // numbers 8 to 15
	VPADDD (DI), Y6, Y6
	VPADDD 32(DI), Y7, Y7
	VMOVDQU Y6, (DI)
	VMOVDQU Y7, 32(DI)
	ADDQ $64, DI
	ADDQ $16, CX
	CMPQ CX, $256
	JNE loop
	VZEROUPPER
	RET
