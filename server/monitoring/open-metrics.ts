/** One value of a family. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  /** A sample with null is left out. */
  readonly value: number | null;
}

/** A figure with its values, as OpenMetrics calls it. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly unit?: "seconds" | "bytes" | "ratio";
  readonly samples: readonly Sample[];
}

export const seconds = (ms: number | null) => (ms === null ? null : ms / 1_000);

function escape(text: string): string {
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`);
}

function lineOf(name: string, { labels, value }: Sample): string[] {
  if (value === null) return [];
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`);
  return [`${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`];
}

export function textOf({ name, help, unit, samples }: Family): string[] {
  const head = [
    `# TYPE ${name} gauge`,
    ...(unit ? [`# UNIT ${name} ${unit}`] : []),
    `# HELP ${name} ${help}`,
  ];
  return [...head, ...samples.flatMap((sample) => lineOf(name, sample))];
}
