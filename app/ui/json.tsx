function rounded(_name: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toFixed(3)) : value;
}

/** A stored value as JSON; numbers have at most three decimals. */
export function Json({ value }: { readonly value: unknown }) {
  return (
    <pre
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className="tabular mt-2 max-h-80 overflow-auto rounded-control bg-well p-3 text-xs break-words whitespace-pre-wrap"
    >
      {JSON.stringify(value, rounded, 2)}
    </pre>
  );
}
