/** The place at which a dragged row would come to lie, by the middles of all rows in px. */
export function placeAt(middles: readonly number[], y: number, dragged: number): number {
  return middles.filter((middle, index) => index !== dragged && middle < y).length;
}
