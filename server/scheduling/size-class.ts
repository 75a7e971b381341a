/** Runs of one class take about as long on one server: 2 × log2 of megapixels × steps, rounded. */
export function sizeClassOf({ pixels, steps }: { pixels: number; steps: number }): number {
  const work = Math.max(0.01, (pixels / 1_000_000) * Math.max(1, steps));
  return Math.round(2 * Math.log2(work));
}
