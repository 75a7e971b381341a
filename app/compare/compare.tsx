"use client";
import { ArrowLeft, ListTree } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import { AiBadge, useImageName } from "../pictures/picture.tsx";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { useBoxSize } from "../ui/box-size.ts";
import { Button, buttonStyle, cx, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { mostCompared } from "./address.ts";
import { columnsFor } from "./geometry.ts";
import {
  type Acts,
  type Compared,
  type Comparison,
  useActs,
  useCompared,
  useCompareKeys,
} from "./compared.ts";
import { Pane, useLinkedView } from "./linked-view.tsx";
import { useLeave, useNoteOpened } from "./opening.ts";
import { Letter, PictureBar } from "./picture-bar.tsx";
import { ComparedSettings } from "./settings.tsx";
import { DifferencePair, SliderPair, type Way, WayChoice } from "./ways.tsx";

interface GoneProps {
  readonly compared: Compared;
  readonly acts: Acts;
}

/** In place of a picture that is not there, or could not be read. */
function NotShown({ compared, acts }: GoneProps) {
  const t = useTranslations("compare");
  const textOf = useFailureText();
  const { error, isGone, retry } = compared;
  if (error === null) return <div aria-busy className="flex-1 bg-well" />;
  const failed = textOf(failureOf(error));
  return (
    <div className="hatched flex min-h-0 flex-1 items-center justify-center overflow-y-auto p-2">
      <div className="flex max-w-[36ch] flex-col items-center gap-2 rounded-card bg-raised p-4 text-center text-xs">
        <p className="flex items-center gap-2 font-medium">
          <Letter letter={compared.letter} isActive={false} />
          {isGone ? t("goneTitle") : failed.title}
        </p>
        <p className="text-quiet">{isGone ? t("goneText") : failed.advice}</p>
        <div className="flex flex-wrap justify-center gap-2">
          {isGone ? (
            <Link href="/gallery?search=is:trashed" className={buttonStyle("quiet", "small")}>
              {t("toTrash")}
            </Link>
          ) : (
            <Button look="quiet" size="small" onClick={retry}>
              {t("again")}
            </Button>
          )}
          <Button look="quiet" size="small" onClick={() => acts.drop(compared)}>
            {t("drop")}
          </Button>
        </div>
      </div>
    </div>
  );
}

interface SideProps {
  readonly comparison: Comparison;
  readonly acts: Acts;
}

/** Whom a picture is swapped with: the one before it, the first one with the next. */
function swapsWith(shown: readonly Compared[], { id }: Compared): string | null {
  const at = shown.findIndex((one) => one.id === id);
  return (shown[at - 1] ?? shown[at + 1])?.letter ?? null;
}

/** Up to four pictures beside each other: each shows the same part. */
function SideBySide({ comparison, acts }: SideProps) {
  const nameOf = useImageName();
  const linked = useLinkedView();
  const [box, setBox] = useState<HTMLUListElement | null>(null);
  const size = useBoxSize(box);
  const { shown, active, choose } = comparison;
  const columns = columnsFor(
    size,
    shown.map(({ image }) => image ?? { widthPx: 1, heightPx: 1 }),
  );
  return (
    <ul
      ref={setBox}
      className="grid size-full auto-rows-fr gap-2"
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
    >
      {shown.map((compared) => {
        const { id, image, letter } = compared;
        const isActive = id === active?.id;
        return (
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- what is used within it becomes the active one
          <li
            key={id}
            data-compared={id}
            aria-current={isActive ? "true" : undefined}
            onFocus={() => choose(id)}
            onPointerDown={() => choose(id)}
            className={cx(
              "relative flex min-h-0 min-w-0 flex-col ring-1",
              isActive && shown.length > 1 ? "ring-edge" : "ring-transparent",
            )}
          >
            {image === undefined ? (
              <NotShown compared={compared} acts={acts} />
            ) : (
              <>
                <Pane
                  image={image}
                  linked={linked}
                  alt={nameOf(image)}
                  name={`${letter}: ${nameOf(image)}`}
                  takesKeys={isActive}
                />
                <span className="pointer-events-none absolute top-2 inset-s-2 wide:hidden">
                  <Letter letter={letter} isActive={isActive} />
                </span>
                {image.isAi ? (
                  <span className="pointer-events-none absolute top-2 inset-e-2 flex wide:hidden">
                    <AiBadge />
                  </span>
                ) : null}
                <div className="max-wide:hidden">
                  <PictureBar
                    compared={compared}
                    image={image}
                    acts={acts}
                    swapsWith={swapsWith(shown, compared)}
                    isActive={isActive}
                  />
                </div>
              </>
            )}
          </li>
        );
      })}
    </ul>
  );
}

interface StageProps extends SideProps {
  readonly way: Way;
}

/** The two that a slider or a difference shows; null where it is not two, or one is not there. */
function pairOf(shown: readonly Compared[]) {
  const [left, right] = shown;
  if (shown.length !== 2 || left?.image === undefined || right?.image === undefined) return null;
  return { left: left.image, right: right.image, names: [left.letter, right.letter] as const };
}

function CompareRoom({ comparison, acts, way }: StageProps) {
  const nameOf = useImageName();
  const { shown, active } = comparison;
  const pair = pairOf(shown);
  if (pair === null || way === "side") return <SideBySide comparison={comparison} acts={acts} />;
  const bars = shown.map((compared) =>
    compared.image === undefined ? null : (
      <div key={compared.id} className="min-w-0 flex-1">
        <PictureBar
          compared={compared}
          image={compared.image}
          acts={acts}
          swapsWith={swapsWith(shown, compared)}
          isActive={compared.id === active?.id}
        />
      </div>
    ),
  );
  return (
    <div className="flex size-full flex-col gap-2">
      <div className="min-h-0 flex-1">
        {way === "slider" ? (
          <SliderPair {...pair} alt={nameOf(pair.right)} />
        ) : (
          <DifferencePair {...pair} takesKeys />
        )}
      </div>
      <div className="flex gap-2 max-wide:hidden">{bars}</div>
    </div>
  );
}

/** Which of the two the bar is for, where none of them can be tapped. */
function PictureChoice({ comparison: { shown, active, choose } }: Pick<SideProps, "comparison">) {
  const t = useTranslations("compare");
  return (
    <div className="flex justify-center gap-4 pt-2">
      {shown.map(({ id, letter }) => (
        <button
          key={id}
          type="button"
          aria-label={t("pictureBar", { letter })}
          aria-pressed={id === active?.id}
          onClick={() => choose(id)}
          className="touch flex size-8 items-center justify-center rounded-control"
        >
          <Letter letter={letter} isActive={id === active?.id} />
        </button>
      ))}
    </div>
  );
}

const room = "stage room -mb-36 flex h-dvh flex-col pb-(--tabs) wide:-mb-16 wide:pb-0";

interface RoomProps {
  readonly comparison: Comparison;
  readonly onLeave: () => void;
}

function Room({ comparison, onLeave }: RoomProps) {
  const t = useTranslations("compare");
  const acts = useActs(comparison);
  useCompareKeys(comparison, acts, onLeave);
  const [way, setWay] = useState<Way>("side");
  const [hasSettings, setSettings] = useState(true);
  const { shown, active, ids } = comparison;
  const there = shown.flatMap(({ image, letter }) => (image === undefined ? [] : [{ image, letter }]));
  const isPair = pairOf(shown) !== null;
  return (
    <div className={room}>
      <header className="flex min-h-14 shrink-0 flex-wrap items-center justify-between gap-2 border-b border-line px-2 sm:px-3">
        <Button look="quiet" size="small" aria-keyshortcuts="Escape" onClick={onLeave}>
          <ArrowLeft aria-hidden />
          {t("back")}
        </Button>
        <h1 className={isPair ? "sr-only" : "font-sans text-xs tracking-normal text-quiet"}>{t("title")}</h1>
        {isPair ? (
          <div className="max-sm:order-last max-sm:flex max-sm:w-full max-sm:justify-center max-sm:pb-2">
            <WayChoice way={way} onChange={setWay} />
          </div>
        ) : null}
        <IconButton
          label={t("differences")}
          pressed={hasSettings}
          disabled={there.length < 2}
          onClick={() => setSettings((isOn) => !isOn)}
        >
          <ListTree aria-hidden />
        </IconButton>
      </header>
      {ids.length > mostCompared ? (
        <p className="px-3 pt-2 text-center text-xs text-quiet">{t("firstOf", { count: ids.length })}</p>
      ) : null}
      {shown.length === 1 && there.length === 1 ? (
        <p className="px-3 pt-2 text-center text-xs text-quiet">{t("alone")}</p>
      ) : null}
      <div className="min-h-0 flex-1 p-2 sm:p-3">
        <CompareRoom comparison={comparison} acts={acts} way={way} />
      </div>
      {active?.image === undefined ? null : (
        <div className="shrink-0 border-t border-line px-2 wide:hidden">
          {isPair && way !== "side" ? <PictureChoice comparison={comparison} /> : null}
          <PictureBar
            compared={active}
            image={active.image}
            acts={acts}
            swapsWith={swapsWith(shown, active)}
            isActive
          />
        </div>
      )}
      {hasSettings && there.length > 1 ? (
        <ComparedSettings
          images={there.map(({ image }) => image)}
          names={there.map(({ letter }) => letter)}
          className="max-h-[26dvh] shrink-0 border-t border-line px-3 py-2 sm:px-4"
        />
      ) : null}
    </div>
  );
}

/** Two to four pictures of the gallery beside each other. */
export function Compare() {
  const t = useTranslations("compare");
  const comparison = useCompared();
  const leave = useLeave();
  useNoteOpened();
  if (comparison.shown.length > 0) return <Room comparison={comparison} onLeave={leave} />;
  return (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
      <Button onClick={leave}>{t("toGallery")}</Button>
    </EmptyState>
  );
}
