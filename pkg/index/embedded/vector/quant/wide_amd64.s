#include "textflag.h"

// func dotWide(a, b *float32, n int) float32
TEXT ·dotWide(SB), NOSPLIT, $0-28
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

step:
	VMOVUPS (SI), Y4
	VMOVUPS 32(SI), Y5
	VMOVUPS 64(SI), Y6
	VMOVUPS 96(SI), Y7
	VFMADD231PS (DI), Y4, Y0
	VFMADD231PS 32(DI), Y5, Y1
	VFMADD231PS 64(DI), Y6, Y2
	VFMADD231PS 96(DI), Y7, Y3
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $32, CX
	JNZ  step

	VADDPS Y1, Y0, Y0
	VADDPS Y3, Y2, Y2
	VADDPS Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VHADDPS X0, X0, X0
	VHADDPS X0, X0, X0
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func prefetchWide(p *byte, n int)
TEXT ·prefetchWide(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX

line:
	PREFETCHT0 (SI)
	ADDQ $64, SI
	SUBQ $64, CX
	JG   line
	RET

// func dotBytesWide(weight *int16, code *byte, n int) int32
TEXT ·dotBytesWide(SB), NOSPLIT, $0-28
	MOVQ weight+0(FP), SI
	MOVQ code+8(FP), DI
	MOVQ n+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

bytes:
	VPMOVSXBW (DI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMOVSXBW 32(DI), Y6
	VPMOVSXBW 48(DI), Y7
	VPMADDWD (SI), Y4, Y4
	VPMADDWD 32(SI), Y5, Y5
	VPMADDWD 64(SI), Y6, Y6
	VPMADDWD 96(SI), Y7, Y7
	VPADDD Y4, Y0, Y0
	VPADDD Y5, Y1, Y1
	VPADDD Y6, Y2, Y2
	VPADDD Y7, Y3, Y3
	ADDQ $128, SI
	ADDQ $64, DI
	SUBQ $64, CX
	JNZ  bytes

	VPADDD Y1, Y0, Y0
	VPADDD Y3, Y2, Y2
	VPADDD Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, AX
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// A column contains one byte of each of 64 codes, side by side. The sum of the weights of a nibble's set bits is looked
// up in a table, for all codes at once. The tables contain these sums minus their minimum, so that the sum of both
// nibbles fits into a byte. The sums of a code are added up in 16-bit words: EVEN contains the sum of an even code plus
// 256 times that of the odd code next to it, and ODD contains the sum of the odd code alone.

// AHEAD is the distance in bytes from which codes are prefetched: two groups of codes of 384 dimensions. The
// processor's own prefetching stops at the end of each page.
#define AHEAD 8192

// pairs512 contains the indexes of the words in EVEN and ODD that interleave them to the sums of the first 32 codes.
// Each index plus 16 gives those of the other 32 codes.
DATA pairs512<>+0(SB)/8, $0x0021000100200000
DATA pairs512<>+8(SB)/8, $0x0023000300220002
DATA pairs512<>+16(SB)/8, $0x0025000500240004
DATA pairs512<>+24(SB)/8, $0x0027000700260006
DATA pairs512<>+32(SB)/8, $0x0029000900280008
DATA pairs512<>+40(SB)/8, $0x002b000b002a000a
DATA pairs512<>+48(SB)/8, $0x002d000d002c000c
DATA pairs512<>+56(SB)/8, $0x002f000f002e000e
GLOBL pairs512<>(SB), RODATA|NOPTR, $64

// COLUMN512 looks up a column in its two tables. It adds the results of all codes to EVEN, and those of the odd codes
// also to ODD.
#define COLUMN512(AT, TABLES, EVEN, ODD) \
	PREFETCHT0 AT+AHEAD(SI); \
	VMOVDQU64 AT(SI), Z0; \
	VBROADCASTI32X4 TABLES(DX), Z1; \
	VBROADCASTI32X4 TABLES+16(DX), Z2; \
	VPANDQ Z31, Z0, Z3; \
	VPSRLW $4, Z0, Z0; \
	VPANDQ Z31, Z0, Z0; \
	VPSHUFB Z3, Z1, Z1; \
	VPSHUFB Z0, Z2, Z2; \
	VPADDB Z2, Z1, Z1; \
	VPSRLW $8, Z1, Z2; \
	VPADDW Z1, EVEN, EVEN; \
	VPADDW Z2, ODD, ODD

// func columns512(sums *int32, codes, halves *byte, columns int)
TEXT ·columns512(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ halves+16(FP), DX
	MOVQ columns+24(FP), CX
	MOVL $0x0f0f0f0f, AX
	VPBROADCASTD AX, Z31
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19

column512:
	COLUMN512(0, 0, Z16, Z17)
	COLUMN512(64, 32, Z18, Z19)
	COLUMN512(128, 64, Z16, Z17)
	COLUMN512(192, 96, Z18, Z19)
	ADDQ $256, SI
	ADDQ $128, DX
	SUBQ $4, CX
	JNZ  column512

	VPADDW Z18, Z16, Z16
	VPADDW Z19, Z17, Z17
	VPSLLW $8, Z17, Z0
	VPSUBW Z0, Z16, Z16
	VMOVDQU64 pairs512<>(SB), Z1
	MOVL $0x00100010, AX
	VPBROADCASTD AX, Z2
	VPADDW Z2, Z1, Z2
	VPERMI2W Z17, Z16, Z1
	VPERMI2W Z17, Z16, Z2
	VPMOVZXWD Y1, Z0
	VEXTRACTI64X4 $1, Z1, Y1
	VPMOVZXWD Y1, Z1
	VPMOVZXWD Y2, Z3
	VEXTRACTI64X4 $1, Z2, Y2
	VPMOVZXWD Y2, Z2
	VPADDD (DI), Z0, Z0
	VPADDD 64(DI), Z1, Z1
	VPADDD 128(DI), Z3, Z3
	VPADDD 192(DI), Z2, Z2
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z3, 128(DI)
	VMOVDQU64 Z2, 192(DI)
	VZEROUPPER
	RET

// func above512(e *Estimates, numbers *byte, s *kernelArgs) uint64
TEXT ·above512(SB), NOSPLIT, $0-32
	MOVQ e+0(FP), DI
	MOVQ numbers+8(FP), SI
	MOVQ s+16(FP), BX
	VPBROADCASTD 0(BX), Z21
	VBROADCASTSS 4(BX), Z22
	VBROADCASTSS 8(BX), Z23
	VBROADCASTSS 12(BX), Z24
	VBROADCASTSS 16(BX), Z25
	VBROADCASTSS 20(BX), Z26
	VBROADCASTSS 24(BX), Z27
	XORQ AX, AX
	XORQ CX, CX

sixteen:
	VMOVUPS (SI), Z1
	VMOVUPS 256(SI), Z2
	VMOVUPS 512(SI), Z3
	VMOVDQU32 512(DI), Z0
	VPSLLD $1, Z0, Z0
	VPSUBD Z21, Z0, Z0
	VCVTDQ2PS Z0, Z0
	VMULPS Z23, Z1, Z1
	VADDPS Z22, Z2, Z2
	VFMADD231PS Z0, Z1, Z2
	VFMADD213PS Z25, Z24, Z3
	VMOVUPS Z2, (DI)
	VMOVUPS Z3, 256(DI)
	VFMADD231PS Z3, Z26, Z2
	VCMPPS $13, Z27, Z2, K2
	KMOVW K2, R10
	SHLQ CX, R10
	ORQ  R10, AX
	ADDQ $64, DI
	ADDQ $64, SI
	ADDQ $16, CX
	CMPQ CX, $64
	JNE  sixteen

	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

DATA halves<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA halves<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA halves<>+16(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA halves<>+24(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL halves<>(SB), RODATA|NOPTR, $32

// COLUMN256 does the same as COLUMN512 for 32 codes.
#define COLUMN256(AT, TABLES, EVEN, ODD) \
	PREFETCHT0 AT+AHEAD(SI); \
	VMOVDQU AT(SI), Y0; \
	VBROADCASTI128 TABLES(R8), Y1; \
	VBROADCASTI128 TABLES+16(R8), Y2; \
	VPAND Y15, Y0, Y3; \
	VPSRLW $4, Y0, Y0; \
	VPAND Y15, Y0, Y0; \
	VPSHUFB Y3, Y1, Y1; \
	VPSHUFB Y0, Y2, Y2; \
	VPADDB Y2, Y1, Y1; \
	VPSRLW $8, Y1, Y2; \
	VPADDW Y1, EVEN, EVEN; \
	VPADDW Y2, ODD, ODD

// EIGHT256 adds eight words to the sums at the address DI+AT.
#define EIGHT256(X, AT) \
	VPMOVZXWD X, Y0; \
	VPADDD AT(DI), Y0, Y0; \
	VMOVDQU Y0, AT(DI)

// func columns256(sums *int32, codes, halves *byte, columns int)
TEXT ·columns256(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ codes+8(FP), R9
	MOVQ halves+16(FP), DX
	MOVQ columns+24(FP), BX
	VMOVDQU halves<>(SB), Y15
	MOVQ $2, R10

half256:
	MOVQ R9, SI
	MOVQ DX, R8
	MOVQ BX, CX
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11

column256:
	COLUMN256(0, 0, Y8, Y9)
	COLUMN256(64, 32, Y10, Y11)
	COLUMN256(128, 64, Y8, Y9)
	COLUMN256(192, 96, Y10, Y11)
	ADDQ $256, SI
	ADDQ $128, R8
	SUBQ $4, CX
	JNZ  column256

	VPADDW Y10, Y8, Y8
	VPADDW Y11, Y9, Y9
	VPSLLW $8, Y9, Y0
	VPSUBW Y0, Y8, Y8
	VPUNPCKLWD Y9, Y8, Y1
	VPUNPCKHWD Y9, Y8, Y2
	EIGHT256(X1, 0)
	EIGHT256(X2, 32)
	VEXTRACTI128 $1, Y1, X1
	VEXTRACTI128 $1, Y2, X2
	EIGHT256(X1, 64)
	EIGHT256(X2, 96)
	ADDQ $32, R9
	ADDQ $128, DI
	DECQ R10
	JNZ  half256
	VZEROUPPER
	RET

// func above256(e *Estimates, numbers *byte, s *kernelArgs) uint64
TEXT ·above256(SB), NOSPLIT, $0-32
	MOVQ e+0(FP), DI
	MOVQ numbers+8(FP), SI
	MOVQ s+16(FP), BX
	VPBROADCASTD 0(BX), Y5
	VBROADCASTSS 4(BX), Y6
	VBROADCASTSS 8(BX), Y7
	VBROADCASTSS 12(BX), Y8
	VBROADCASTSS 16(BX), Y9
	VBROADCASTSS 20(BX), Y10
	VBROADCASTSS 24(BX), Y11
	XORQ AX, AX
	XORQ CX, CX

eight:
	VMOVUPS (SI), Y1
	VMOVUPS 256(SI), Y2
	VMOVUPS 512(SI), Y3
	VMOVDQU 512(DI), Y0
	VPSLLD $1, Y0, Y0
	VPSUBD Y5, Y0, Y0
	VCVTDQ2PS Y0, Y0
	VMULPS Y7, Y1, Y1
	VADDPS Y6, Y2, Y2
	VFMADD231PS Y0, Y1, Y2
	VFMADD213PS Y9, Y8, Y3
	VMOVUPS Y2, (DI)
	VMOVUPS Y3, 256(DI)
	VFMADD231PS Y3, Y10, Y2
	VCMPPS $13, Y11, Y2, Y2
	VMOVMSKPS Y2, R10
	SHLQ CX, R10
	ORQ  R10, AX
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $8, CX
	CMPQ CX, $64
	JNE  eight

	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET
