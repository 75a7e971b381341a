"use client";

interface Props {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const mostCharacters = 2_000;

export function WordsField({ label, hint, value, onChange }: Props) {
  return (
    <textarea
      aria-label={label}
      placeholder={hint}
      value={value}
      rows={2}
      maxLength={mostCharacters}
      onChange={(event) => onChange(event.target.value)}
      className="field-sizing-content max-h-40 min-h-15 w-full resize-none rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet hover:border-quiet"
    />
  );
}
