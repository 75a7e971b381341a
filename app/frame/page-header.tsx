import type { ReactNode } from "react";

interface Props {
  readonly title: string;
  readonly children?: ReactNode;
}

export function PageHeader({ title, children }: Props) {
  return (
    <header className="flex min-h-16 flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 pt-4 pb-3 sm:px-6 wide:px-8 wide:pt-6 wide:pb-4">
      <h1 className="text-xl">{title}</h1>
      {children === undefined ? null : <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </header>
  );
}
