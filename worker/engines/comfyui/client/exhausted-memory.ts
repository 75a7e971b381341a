/** Texts of torch and Python, on any device. */
const anyMemory = /OutOfMemory|out of memory|can't allocate memory|Cannot allocate memory|ran out of memory/i;
const mainMemory = /DefaultCPUAllocator|alloc_cpu|Cannot allocate memory/i;

/** Whose memory did not suffice for a node; null when that was not the reason. */
export function exhaustedMemory(exceptionType: string, message: string): "gpu" | "main" | null {
  if (exceptionType === "MemoryError" || mainMemory.test(message)) return "main";
  return anyMemory.test(exceptionType) || anyMemory.test(message) ? "gpu" : null;
}
