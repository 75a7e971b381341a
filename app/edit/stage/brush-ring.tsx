import type { Point } from "../mask/stroke.ts";

interface Props {
  /** In CSS px of the stage. */
  readonly at: Point;
  readonly diameterPx: number;
}

/** The brush's outline, black and white so that it shows on any picture. */
export function BrushRing({ at, diameterPx }: Props) {
  return (
    <span
      aria-hidden
      className="pointer-events-none absolute top-0 left-0 rounded-full border border-white shadow-[0_0_0_1px_rgb(0_0_0/70%),inset_0_0_0_1px_rgb(0_0_0/70%)]"
      style={{
        width: diameterPx,
        height: diameterPx,
        transform: `translate(${at.x - diameterPx / 2}px, ${at.y - diameterPx / 2}px)`,
      }}
    />
  );
}
