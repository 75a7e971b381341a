import { useTranslations } from "next-intl";
import { type ReactNode, Suspense } from "react";
import { JobsDock } from "../jobs/dock.tsx";
import { LiveConnection } from "../live/hooks.tsx";
import { Toaster } from "../ui/toasts.tsx";
import { PageDrop } from "../uploads/drop.tsx";
import { Announcer } from "./announcer.tsx";
import { BottomTabs } from "./bottom-tabs.tsx";
import { ConnectionNotice } from "./connection-notice.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { SideNav } from "./side-nav.tsx";

interface Props {
  /** Whether pictures could be made from words when this browser was last here. */
  readonly hadCreate: boolean;
  readonly children: ReactNode;
}

/** What stands around every page: ways, live notices, jobs, toasts. */
export function AppFrame({ hadCreate, children }: Props) {
  const t = useTranslations("frame");
  return (
    <>
      <a
        href="#main"
        className="fixed top-2 left-2 z-70 -translate-y-20 rounded-control bg-ink px-3 py-2 text-sm text-paper focus:translate-y-0"
      >
        {t("skip")}
      </a>
      <LiveConnection />
      <div className="wide:pl-[200px]">
        <SideNav hadCreate={hadCreate} />
        <main id="main" tabIndex={-1} className="min-h-dvh pb-36 outline-none wide:pb-16">
          {children}
        </main>
        <BottomTabs hadCreate={hadCreate} />
      </div>
      <ConnectionNotice />
      <Suspense>
        <JobsDock />
      </Suspense>
      <PageDrop />
      <Announcer />
      <Shortcuts />
      <Toaster />
    </>
  );
}
