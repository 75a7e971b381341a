"use client";
import { CircleUserRound, Ellipsis, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { type ReactNode, Suspense, useEffect, useState } from "react";
import { refuseQuestions, usePriceQuestion } from "../client/submit/agreement.ts";
import { useFailureToast } from "../ui/failures.ts";
import { rememberZone } from "../client/cookies.ts";
import { useMe, viewerTimezone } from "../client/queries.ts";
import { JobsPill, JobsTray, UploadsRow } from "../jobs/dock.tsx";
import { LiveConnection, useOpenJobCount } from "../live/hooks.tsx";
import { later, useFirstSign } from "../ui/later.tsx";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { Toaster } from "../ui/toasts.tsx";
import { preloadTooltip } from "../ui/tooltip.tsx";
import { PaletteButton, PaletteDoor } from "../palette/door.tsx";
import { PageDrop } from "../uploads/drop.tsx";
import { FollowAccountLanguage } from "./follow-language.ts";
import { type CurrentNavItem, useNavItems } from "../parts/nav-items.ts";
import { paletteOpen } from "../parts/openings.ts";
import { ConnectionNotice } from "./providers.tsx";
import { Shortcuts, ShortcutsButton } from "./shortcuts.tsx";

/** Link to the user's settings, without a name until it is known; for a guest the link to sign in. */
function AccountLink() {
  const t = useTranslations("frame");
  const me = useMe();
  const isGuest = me?.isGuest;
  return (
    <Link
      href={isGuest ? "/sign-in" : "/settings"}
      aria-label={me ? undefined : t("account")}
      className="flex h-9 min-w-0 flex-1 items-center gap-3 rounded-control px-2 text-sm text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink"
    >
      <CircleUserRound className="size-[18px] shrink-0" strokeWidth={1.75} aria-hidden />
      <span className="truncate">{isGuest ? t("signIn") : me?.name}</span>
    </Link>
  );
}

const maxCounted = 99;

/** The number of open jobs on the Jobs tab. */
function OpenJobsBadge() {
  const t = useTranslations("jobs");
  const count = useOpenJobCount();
  if (count === 0) return null;
  return (
    <span className="absolute -top-1.5 inset-s-3 flex h-4 min-w-4 items-center justify-center rounded-full bg-ink px-1 text-[11px] leading-none font-semibold text-paper tabular">
      <span aria-hidden>{count > maxCounted ? `${maxCounted}+` : count}</span>
      <span className="sr-only">{t("pill.open", { count })}</span>
    </span>
  );
}

const tabLook =
  "flex h-14 w-full flex-col items-center justify-center gap-1 text-[11px] font-medium text-quiet aria-[current=page]:text-ink";

function TabIcon({
  item,
  children,
}: {
  readonly item: Pick<CurrentNavItem, "icon">;
  readonly children?: ReactNode;
}) {
  return (
    <span className="relative">
      <item.icon className="size-5" strokeWidth={1.75} aria-hidden />
      {children}
    </span>
  );
}

/** The pages that have no tab of their own. */
function MoreTab({ items }: { readonly items: readonly CurrentNavItem[] }) {
  const t = useTranslations("frame");
  const palette = useTranslations("palette");
  const router = useRouter();
  return (
    <Menu
      side="top"
      align="end"
      trigger={
        <button
          type="button"
          aria-current={items.some(({ isCurrent }) => isCurrent) ? "page" : undefined}
          className={tabLook}
        >
          <TabIcon item={{ icon: Ellipsis }}>
            {items.some(({ key }) => key === "jobs") ? <OpenJobsBadge /> : null}
          </TabIcon>
          {t("more")}
        </button>
      }
    >
      <MenuItem onSelect={() => paletteOpen.set(true)}>
        <Search aria-hidden />
        {palette("open")}
      </MenuItem>
      {items.map((item) => (
        <MenuItem key={item.key} checked={item.isCurrent} onSelect={() => router.push(item.href)}>
          <item.icon aria-hidden />
          {t(`pages.${item.key}`)}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** More crowd a phone. */
const maxTabs = 5;

function BottomTabs({ hadCreate, tray }: FrameNavProps) {
  const t = useTranslations("frame");
  const items = useNavItems(hadCreate);
  const shown = items.length > maxTabs ? items.slice(0, maxTabs - 1) : items;
  const others = items.slice(shown.length);
  return (
    <nav
      aria-label={t("navigation")}
      className="fixed inset-x-0 bottom-0 z-20 border-t border-line bg-paper/92 pb-[env(safe-area-inset-bottom)] backdrop-blur-md wide:hidden"
    >
      <UploadsRow {...tray} />
      <ul className="mx-auto flex max-w-[480px]">
        {shown.map((item) => (
          <li key={item.key} className="flex-1">
            <Link href={item.href} aria-current={item.isCurrent ? "page" : undefined} className={tabLook}>
              <TabIcon item={item}>{item.key === "jobs" ? <OpenJobsBadge /> : null}</TabIcon>
              {t(`pages.${item.key}`)}
            </Link>
          </li>
        ))}
        {others.length === 0 ? null : (
          <li className="flex-1">
            <MoreTab items={others} />
          </li>
        )}
      </ul>
    </nav>
  );
}

/** The logo: an A in the form of an easel. */
function Logo() {
  return (
    <span className="flex items-center gap-2.5">
      <svg viewBox="0 0 24 24" className="size-6" fill="none" aria-hidden>
        <path
          d="M4.5 21 12 3.5 19.5 21M7.6 15.2h8.8M12 15.2V21"
          stroke="currentColor"
          strokeWidth="1.7"
          strokeLinecap="square"
        />
      </svg>
      <span className="font-serif text-lg leading-none tracking-tight">Atelier</span>
    </span>
  );
}

interface FrameNavProps {
  readonly hadCreate: boolean;
  /** The tray of jobs, which both navigations open. */
  readonly tray: { readonly isOpen: boolean; readonly onToggle: () => void };
}

function SideNav({ hadCreate, tray }: FrameNavProps) {
  const t = useTranslations("frame");
  const items = useNavItems(hadCreate);
  return (
    <nav
      aria-label={t("navigation")}
      className="fixed inset-y-0 inset-s-0 z-20 hidden w-[200px] flex-col border-e border-line bg-paper px-3 py-5 wide:flex"
    >
      <Link href="/" className="mb-7 self-start rounded-control px-2" aria-label={t("home")}>
        <Logo />
      </Link>
      <PaletteButton />
      <ul className="flex flex-col gap-0.5">
        {items.map((item) => (
          <li key={item.key}>
            <Link
              href={item.href}
              aria-current={item.isCurrent ? "page" : undefined}
              className="flex h-9 items-center gap-3 rounded-control px-2 text-sm text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              <item.icon className="size-[18px]" strokeWidth={1.75} aria-hidden />
              {t(`pages.${item.key}`)}
            </Link>
          </li>
        ))}
      </ul>
      <div className="mt-auto">
        <JobsPill {...tray} />
        <div className="flex items-center gap-1">
          <AccountLink />
          <ShortcutsButton />
        </div>
      </div>
    </nav>
  );
}

const AgreementDialog = later(async () => (await import("./agreement-dialog.tsx")).AgreementDialog);

/** The dialog of what was requested and may cost money. Without its code nothing is agreed to. */
function PriceQuestions() {
  const question = usePriceQuestion();
  const showFailure = useFailureToast();
  return (
    <AgreementDialog
      isWanted={question !== null}
      onFailure={(error) => {
        refuseQuestions();
        showFailure(error);
      }}
      props={{ question }}
    />
  );
}

interface AppFrameProps {
  /** Whether text to image was available at this browser's last visit. */
  readonly hadCreate: boolean;
  readonly children: ReactNode;
}

/** The frame of every page: navigation, live notices, jobs, toasts. */
export function AppFrame({ hadCreate, children }: AppFrameProps) {
  const t = useTranslations("frame");
  const [isTrayOpen, setTrayOpen] = useState(false);
  const tray = { isOpen: isTrayOpen, onToggle: () => setTrayOpen((isOpen) => !isOpen) };
  useEffect(() => rememberZone(viewerTimezone()), []);
  useFirstSign(preloadTooltip);
  return (
    <>
      <a
        href="#main"
        className="fixed top-2 inset-s-2 z-70 -translate-y-20 rounded-control bg-ink px-3 py-2 text-sm text-paper focus:translate-y-0"
      >
        {t("skip")}
      </a>
      <FollowAccountLanguage />
      <LiveConnection />
      <div className="wide:ps-[200px]">
        <SideNav hadCreate={hadCreate} tray={tray} />
        <main id="main" tabIndex={-1} className="min-h-dvh pb-36 outline-none wide:pb-16">
          {children}
        </main>
        <BottomTabs hadCreate={hadCreate} tray={tray} />
      </div>
      <ConnectionNotice />
      <Suspense>
        <JobsTray isOpen={isTrayOpen} onClose={() => setTrayOpen(false)} />
      </Suspense>
      <PageDrop />
      <PaletteDoor />
      <Shortcuts />
      <Toaster />
      <PriceQuestions />
    </>
  );
}
