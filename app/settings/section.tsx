"use client";
import { useTranslations } from "next-intl";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { cx } from "../ui/button.tsx";
import { useCentred } from "../ui/scrolling.ts";

interface Section {
  readonly id: string;
  readonly title: string;
  readonly className: string | undefined;
  readonly heading: HTMLElement;
}

type Register = (section: Section) => () => void;

/** Sections come and go while their data loads; each says so here. */
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
  return (
    <nav
      aria-label={t("sections")}
      className="sticky top-0 z-10 min-h-11 min-w-0 bg-paper/92 backdrop-blur-md max-wide:border-b max-wide:border-line wide:top-6 wide:self-start wide:bg-transparent wide:backdrop-blur-none"
    >
      <ul
        ref={list}
        className="no-scrollbar flex overflow-x-auto max-wide:px-2 sm:max-wide:px-4 wide:-ms-2 wide:flex-col wide:gap-0.5"
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
    </nav>
  );
}

/** The sections of a page, with links to them. */
export function Sections({ children }: { readonly children: ReactNode }) {
  const { sections, register } = useRegistry();
  return (
    <div className="wide:grid wide:grid-cols-[144px_minmax(0,1fr)] wide:gap-x-10 wide:px-8 xl:gap-x-16">
      <SectionNav sections={sections} />
      <Registry value={register}>{children}</Registry>
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
