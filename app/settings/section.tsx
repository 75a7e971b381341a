"use client";
import {
  type Query,
  type QueryClient,
  type QueryKey,
  useIsFetching,
  useQueryClient,
} from "@tanstack/react-query";
import { TableOfContents } from "lucide-react";
import { useTranslations } from "next-intl";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { useMe, useMeFailure } from "../client/queries.ts";
import { cx, IconButton } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { useCentred } from "../ui/scrolling.ts";

interface Section {
  readonly id: string;
  readonly title: string;
  readonly className: string | undefined;
  readonly heading: HTMLElement;
}

type Register = (section: Section) => () => void;

/** Sections come and go; each says so here. */
const Registry = createContext<Register | null>(null);

const follows = (a: Section, b: Section) =>
  a.heading.compareDocumentPosition(b.heading) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;

function useRegistry() {
  const [sections, setSections] = useState<readonly Section[]>([]);
  const register = useCallback<Register>((section) => {
    setSections((known) => [...known, section].sort(follows));
    return () => setSections((known) => known.filter((one) => one !== section));
  }, []);
  return { sections, register };
}

/** The highest heading in view; in the middle of a long section the last one above. */
function findCurrent(sections: readonly Section[], visible: ReadonlySet<Element>): string | undefined {
  const tops = sections
    .filter(({ heading }) => heading.checkVisibility())
    .map(({ id, heading }) => ({ id, top: heading.getBoundingClientRect().top, heading }))
    .sort((a, b) => a.top - b.top);
  const shown = tops.find(({ heading }) => visible.has(heading));
  return (shown ?? tops.findLast(({ top }) => top < window.innerHeight / 2) ?? tops[0])?.id;
}

const none: readonly Section[] = [];

/** What the strip covers of a page on a phone. */
const stripPx = 44;

/** The section that is read: the one that was chosen while its heading is in view, else the highest. */
function useCurrent(sections: readonly Section[]) {
  const [current, setCurrent] = useState<string>();
  const chosen = useRef<string>(undefined);
  useEffect(() => {
    const visible = new Set<Element>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries)
          if (isIntersecting) visible.add(target);
          else visible.delete(target);
        const kept = sections.find(({ id, heading }) => id === chosen.current && visible.has(heading));
        if (kept === undefined) chosen.current = undefined;
        setCurrent(kept?.id ?? findCurrent(sections, visible));
      },
      { rootMargin: `-${stripPx}px 0px 0px 0px` },
    );
    for (const { heading } of sections) observer.observe(heading);
    return () => observer.disconnect();
  }, [sections]);
  const choose = useCallback((id: string) => {
    chosen.current = id;
    setCurrent(id);
  }, []);
  return { current, choose };
}

/** Links to the sections: a strip that stays at the top of a phone, a list at the side of a wide screen. */
function SectionNav({ sections }: { readonly sections: readonly Section[] }) {
  const t = useTranslations("settings");
  const { current, choose } = useCurrent(sections);
  const list = useCentred<HTMLUListElement>("[aria-current]", current, sections.length);
  const shown = sections.filter(({ heading }) => heading.checkVisibility());
  const jump = (id: string) => {
    choose(id);
    window.location.hash = id;
  };
  return (
    <nav
      aria-label={t("sections")}
      className="sticky top-0 z-10 min-h-11 min-w-0 bg-paper/92 backdrop-blur-md max-wide:flex max-wide:items-center max-wide:border-b max-wide:border-line wide:top-6 wide:self-start wide:bg-transparent wide:backdrop-blur-none"
    >
      <ul
        ref={list}
        className="no-scrollbar flex overflow-x-auto max-wide:min-w-0 max-wide:flex-1 max-wide:mask-r-from-[calc(100%-32px)] max-wide:ps-2 max-wide:pe-8 sm:max-wide:ps-4 wide:-ms-2 wide:flex-col wide:gap-0.5"
      >
        {sections.map(({ id, title, className }) => (
          <li key={id} className={cx("shrink-0", className)}>
            <a
              href={`#${id}`}
              aria-current={id === current ? "location" : undefined}
              onClick={() => choose(id)}
              className="flex items-center px-2 text-xs whitespace-nowrap text-quiet transition-colors duration-120 hover:text-ink aria-[current]:font-medium aria-[current]:text-ink max-wide:h-11 max-wide:border-b-2 max-wide:border-transparent max-wide:-outline-offset-2 max-wide:aria-[current]:border-ink wide:h-8 wide:rounded-control wide:hover:bg-hover wide:aria-[current]:bg-hover"
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
      <span className="pe-1 wide:hidden">
        <Menu
          align="end"
          trigger={
            <IconButton label={t("sections")}>
              <TableOfContents aria-hidden />
            </IconButton>
          }
        >
          {shown.map(({ id, title }) => (
            <MenuItem key={id} checked={id === current} onSelect={() => jump(id)}>
              {title}
            </MenuItem>
          ))}
        </Menu>
      </span>
    </nav>
  );
}

const firstReads = { predicate: ({ state }: Query) => state.status === "pending" } as const;
/** A section whose data takes longer comes later. */
const patienceMs = 2_000;

/**
 * Tells when no first read runs any more, or that one takes long; returns what stops that. A read that ends between two
 * renders changes no state of the page: so the patience runs beside the look.
 */
export function whenRead(queries: QueryClient, isQuiet: boolean, tell: () => void): () => void {
  const look = () => {
    if (queries.isFetching(firstReads) === 0) tell();
  };
  const late = setTimeout(tell, patienceMs);
  const soon = isQuiet ? setTimeout(look) : undefined;
  return () => {
    clearTimeout(late);
    clearTimeout(soon);
  };
}

/** What the page showed when its sections had been read. */
let readKeys: readonly QueryKey[] | null = null;

export function noteRead(queries: QueryClient): void {
  readKeys = queries
    .getQueryCache()
    .findAll({ type: "active" })
    .map(({ queryKey }) => queryKey);
}

/** Whether the sections can be shown at once, as on the way back to them. */
export const isStillRead = (queries: QueryClient): boolean =>
  readKeys?.every((key) => queries.getQueryState(key)?.data !== undefined) === true;

/** Whether what the sections show has been read, from when on none of them comes between the others; it stays true. */
function useIsRead(): boolean {
  const queries = useQueryClient();
  const { error } = useMeFailure();
  const isBegun = useMe() !== undefined || error !== null;
  const isReading = useIsFetching(firstReads) > 0;
  const [isRead, setRead] = useState(() => isStillRead(queries));
  useEffect(() => {
    // By the look the sections, which are known with their user, have asked for what they show.
    return isRead ? noteRead(queries) : whenRead(queries, isBegun && !isReading, () => setRead(true));
  }, [isBegun, isRead, isReading, queries]);
  return isRead;
}

/** The address names a section that was not there when the page came. */
function useNamedSection(isShown: boolean): void {
  useEffect(() => {
    if (isShown) document.getElementById(window.location.hash.slice(1))?.scrollIntoView();
  }, [isShown]);
}

const waitingSections = ["a", "b", "c", "d", "e", "f"];

/** In place of the sections, until all of them can be shown. */
function WaitingSections() {
  return (
    <div aria-busy className="flex max-w-[960px] flex-col gap-16 py-8 max-wide:px-4 sm:max-wide:px-6 xl:pt-2">
      {waitingSections.map((section) => (
        <div key={section} className="flex flex-col gap-3">
          <div className="h-5 w-40 rounded-control bg-well" />
          <div className="h-4 w-80 max-w-full rounded-control bg-well" />
          <div className="h-9 w-60 max-w-full rounded-control bg-well" />
        </div>
      ))}
    </div>
  );
}

/** The sections of a page, with links to them; all of them are shown at once, so that none pushes the others. */
export function Sections({ children }: { readonly children: ReactNode }) {
  const { sections, register } = useRegistry();
  const isRead = useIsRead();
  useNamedSection(isRead);
  return (
    <div className="wide:grid wide:grid-cols-[144px_minmax(0,1fr)] wide:gap-x-10 wide:px-8 xl:gap-x-16">
      <SectionNav sections={isRead ? sections : none} />
      <Registry value={register}>
        {isRead ? null : <WaitingSections />}
        <div hidden={!isRead}>{children}</div>
      </Registry>
    </div>
  );
}

interface Props {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Also of its link. */
  readonly className?: string;
  readonly children: ReactNode;
}

/** A section of the settings: title and text, with the controls beside them where there is room. */
export function SettingsSection({ id, title, text, className, children }: Props) {
  const register = useContext(Registry);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (heading.current === null) return undefined;
    return register?.({ id, title, className, heading: heading.current });
  }, [register, id, title, className]);
  return (
    <section aria-labelledby={id} className={cx("@container py-8 xl:first:pt-2", className)}>
      <div className="grid gap-x-12 gap-y-5 @2xl:grid-cols-[minmax(200px,240px)_minmax(0,1fr)]">
        <div>
          <h2 id={id} ref={heading} className="scroll-mt-16 text-base font-medium wide:scroll-mt-8">
            {title}
          </h2>
          <p className="mt-1 max-w-[60ch] text-xs text-quiet">{text}</p>
        </div>
        <div className="min-w-0">{children}</div>
      </div>
    </section>
  );
}
