import type { ReactNode } from "react";

interface Props {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

/** A section of the settings: title and text on the left, controls on the right. */
export function SettingsSection({ id, title, text, children }: Props) {
  return (
    <section
      aria-labelledby={id}
      className="grid gap-x-12 gap-y-5 py-8 first:pt-2 md:grid-cols-[240px_minmax(0,1fr)]"
    >
      <div>
        <h2 id={id} className="text-base font-medium">
          {title}
        </h2>
        <p className="mt-1 max-w-[40ch] text-xs text-quiet">{text}</p>
      </div>
      <div className="min-w-0">{children}</div>
    </section>
  );
}
