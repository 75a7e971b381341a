interface Props {
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  /** What the picture says, in words. */
  readonly label: string;
  readonly className: string;
}

const height = 32;
const gap = 0.3;

/** Bars over time: done in ink, failed on top in the colour of failures. Its figures stand in words beside it. */
export function Sparkline({ completed, failed, label, className }: Props) {
  const most = Math.max(1, ...completed.map((count, at) => count + (failed[at] ?? 0)));
  const y = (count: number) => (count / most) * (height - 1);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${completed.length} ${height}`}
      preserveAspectRatio="none"
      className={className}
    >
      <rect x="0" y={height - 0.5} width={completed.length} height="0.5" className="fill-edge" />
      {completed.map((count, at) => {
        const [done, bad] = [y(count), y(failed[at] ?? 0)];
        return (
          // oxlint-disable-next-line react/no-array-index-key -- a bar is its place in time
          <g key={at}>
            <rect x={at + gap / 2} width={1 - gap} y={height - done} height={done} className="fill-quiet" />
            <rect
              x={at + gap / 2}
              width={1 - gap}
              y={height - done - bad}
              height={bad}
              className="fill-fail"
            />
          </g>
        );
      })}
    </svg>
  );
}
