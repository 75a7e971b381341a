import { fitBox } from "../../ui/fit-box.ts";

/** A small picture is enlarged a little, not until it is a blur. */
const mostEnlarged = 1.5;

interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** How large a picture stands in the viewer, in CSS px. */
export function viewerBox(room: { readonly width: number; readonly height: number }, picture: Sized) {
  return fitBox(
    {
      width: Math.min(room.width, picture.widthPx * mostEnlarged),
      height: Math.min(room.height, picture.heightPx * mostEnlarged),
    },
    picture,
  );
}
