import type { Size } from "@atelier/server/retouch";
import { boundView } from "../pictures/zoom.ts";
import { fitBox } from "../ui/box-size.ts";
import { fromRelative, type RelativeView, toRelative, type View } from "../ui/zoom.ts";

export interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

export const whole: RelativeView = { zoom: 1, centreX: 0.5, centreY: 0.5 };
const mostZoom = 32;
const anyScale = { min: 0, max: Infinity };

/** A picture of any size in a pane of any size: what is done to its view, as the view that all panes share. */
export function paneOf(box: Size, picture: Sized) {
  const scale = Math.max(Number.MIN_VALUE, fitBox(box, picture).width / picture.widthPx);
  const fitted = boundView({ scale, x: 0, y: 0 }, box, picture);
  const framed = {
    room: box,
    picture: { width: picture.widthPx, height: picture.heightPx },
    whole: fitted,
  };
  const shown = (view: RelativeView) => boundView(fromRelative(view, framed, anyScale), box, picture);
  /** A direction in which this picture has nothing to move stays as it is for the others. */
  const change = (before: RelativeView, next: (from: View) => View): RelativeView => {
    const to = boundView(next(shown(before)), box, picture);
    if (to.scale <= fitted.scale) return whole;
    const { zoom, centreX, centreY } = toRelative(to, framed);
    return {
      zoom,
      centreX: picture.widthPx * to.scale > box.width ? centreX : before.centreX,
      centreY: picture.heightPx * to.scale > box.height ? centreY : before.centreY,
    };
  };
  return { fitted, range: { min: fitted.scale, max: fitted.scale * mostZoom }, shown, change };
}

/** In how many columns, all of them full, pictures are shown largest. */
export function columnsFor(box: Size, pictures: readonly Sized[]): number {
  const areaIn = (columns: number) => {
    const rows = Math.ceil(pictures.length / columns);
    const cell = { width: box.width / columns, height: box.height / rows };
    return pictures.reduce((sum, picture) => {
      const { width, height } = fitBox(cell, picture);
      return sum + width * height;
    }, 0);
  };
  const choices = pictures.map((_picture, at) => at + 1).filter((columns) => pictures.length % columns === 0);
  const [best = 1] = choices.toSorted((a, b) => areaIn(b) - areaIn(a) || b - a);
  return best;
}
