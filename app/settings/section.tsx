import type { ReactNode } from "react";

interface Props {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

/** A section of the settings: title and text, with the controls beside them where there is room. */
export function SettingsSection({ id, title, text, children }: Props) {
  return (
    <section aria-labelledby={id} className="@container py-8 xl:first:pt-2">
      <div className="grid gap-x-12 gap-y-5 @2xl:grid-cols-[minmax(200px,240px)_minmax(0,1fr)]">
        <div>
          <h2 id={id} className="text-base font-medium">
            {title}
          </h2>
          <p className="mt-1 max-w-[60ch] text-xs text-quiet">{text}</p>
        </div>
        <div className="min-w-0">{children}</div>
      </div>
    </section>
  );
}
