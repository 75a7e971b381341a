import type { ReactNode } from "react";

interface Props {
  readonly id: string;
  readonly title: string;
  readonly children?: ReactNode;
}

export function FrameHeader({ id, title, children }: Props) {
  return (
    <div className="flex h-5 items-center justify-between gap-2">
      <h2 id={id} className="text-sm font-medium">
        {title}
      </h2>
      {children}
    </div>
  );
}
