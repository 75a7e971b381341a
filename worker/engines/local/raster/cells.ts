/*
 * Reads of typed arrays by an index that the caller keeps in range, which the types cannot see. One function per
 * array type, so that each stays monomorphic and is inlined.
 */
export const byteAt = (cells: Uint8Array, index: number): number => cells[index] as number;
export const floatAt = (cells: Float32Array, index: number): number => cells[index] as number;
export const intAt = (cells: Int32Array, index: number): number => cells[index] as number;
export const doubleAt = (cells: Float64Array, index: number): number => cells[index] as number;
