interface Size {
  readonly width: number;
  readonly height: number;
}

/** The largest box of a picture's proportions inside another, in CSS px. */
export function fitBox(box: Size, picture: { readonly widthPx: number; readonly heightPx: number }): Size {
  const scale = Math.min(box.width / picture.widthPx, box.height / picture.heightPx);
  return { width: picture.widthPx * scale, height: picture.heightPx * scale };
}
