"use client";
import { Images, Plus, TriangleAlert, X } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { BatchEstimateLine } from "../../batches/estimate-line.tsx";
import { useWorkflows } from "../../client/cloud.ts";
import { readIds } from "../../compare/address.ts";
import { draftKeys, readDraft, writeDraft } from "../../client/leaving.ts";
import { useCapabilities, useCapability, useImage } from "../../client/queries.ts";
import { useBatchEstimate, useSubmitBatch } from "../../client/submit/batch.ts";
import { OwnOnlyChoice } from "../../parts/own-only.tsx";
import { PageHeader } from "../../parts/page-parts.tsx";
import { RunButton } from "../../parts/run-button.tsx";
import { Picture } from "../../pictures/picture.tsx";
import { Button, buttonStyle, cx } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { useIsHydrated } from "../../ui/hooks.ts";
import { Menu, MenuItem } from "../../ui/overlays.tsx";
import { findForReferences } from "../modes/change.tsx";
import { useUpscaleByFour } from "../modes/enhance.tsx";
import {
  lackOf,
  mostSteps,
  type Offers,
  readRecipe,
  type Recipe,
  severalRequest,
  type Step,
  stepModes,
  stepOf,
} from "./recipe.ts";
import { StepCard } from "./step-card.tsx";

const kindOf = (step: Step) => {
  if (step.mode === "enhance") return step.settings.what === "faces" ? "restore_faces" : "upscale";
  return ({ background: "remove_background", change: "edit", adjust: "adjust" } as const)[step.mode];
};

/** Why a step cannot run now, or what is missing in it; null when nothing is. */
function useObstacles(recipe: Recipe, offers: Offers): readonly (string | null)[] {
  const t = useTranslations("edit");
  const capabilities = {
    remove_background: useCapability("remove_background"),
    edit: useCapability("edit"),
    adjust: useCapability("adjust"),
    upscale: useCapability("upscale"),
    restore_faces: useCapability("restore_faces"),
  };
  const lacks = {
    prompt: t("modes.promptMissing"),
    picture: t("background.pictureMissing"),
    change: t("modes.adjust.missing"),
  };
  return recipe.map((step) => {
    const capability = capabilities[kindOf(step)];
    if (capability?.available === false) return capability.reason ?? t("modes.none");
    if (step.mode === "change" && offers.change === undefined) return t("modes.change.none");
    const lack = lackOf(step);
    return lack === null ? null : lacks[lack];
  });
}

interface PicturesProps {
  readonly imageIds: readonly string[];
  /** Why a picture cannot have it, by its id. */
  readonly refusals: ReadonlyMap<string, string>;
  readonly onRemove: (ids: readonly string[]) => void;
}

function Pictures({ imageIds, refusals, onRemove }: PicturesProps) {
  const t = useTranslations("several");
  return (
    <section aria-label={t("pictures", { count: imageIds.length })} className="flex min-w-0 flex-col gap-3">
      <div className="flex min-h-9 flex-wrap items-center gap-3">
        <h2 className="tabular text-sm font-medium">{t("pictures", { count: imageIds.length })}</h2>
        {refusals.size === 0 ? null : (
          <Button size="small" onClick={() => onRemove([...refusals.keys()])}>
            {t("leaveOut", { count: refusals.size })}
          </Button>
        )}
      </div>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(128px,1fr))] gap-2 max-wide:-mx-4 max-wide:no-scrollbar max-wide:flex max-wide:overflow-x-auto max-wide:px-4 max-wide:py-1">
        {imageIds.map((id, at) => {
          const refusal = refusals.get(id);
          return (
            <li key={id} className="min-w-0 max-wide:w-24 max-wide:shrink-0">
              <div
                className={cx(
                  "relative aspect-square overflow-hidden rounded-control ring-1 ring-line",
                  refusal !== undefined && "ring-2 ring-warn",
                )}
              >
                <Picture
                  imageId={id}
                  variant="thumbnail"
                  alt={t("picture", { number: at + 1 })}
                  className="size-full"
                />
                <button
                  type="button"
                  aria-label={t("removePicture", { number: at + 1 })}
                  onClick={() => onRemove([id])}
                  className="absolute top-1 inset-e-1 flex size-7 items-center justify-center rounded-full bg-black/70 text-white hover:bg-black [&_svg]:size-4"
                >
                  <X aria-hidden />
                </button>
              </div>
              {refusal === undefined ? null : (
                <p className="mt-1 flex items-start gap-1 text-xs text-warn">
                  <TriangleAlert aria-hidden className="mt-px size-3.5 shrink-0" />
                  <span className="line-clamp-3">{refusal}</span>
                </p>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface StepsProps {
  readonly recipe: Recipe;
  readonly obstacles: readonly (string | null)[];
  readonly sampleId: string | null;
  readonly canByFour: boolean;
  readonly onChange: (recipe: Recipe) => void;
}

function Steps({ recipe, obstacles, sampleId, canByFour, onChange }: StepsProps) {
  const t = useTranslations("several");
  const modes = useTranslations("edit.modes");
  const { data: sample } = useImage(sampleId);
  const isFull = recipe.length >= mostSteps;
  return (
    <>
      <ol aria-label={t("steps")} className="flex flex-col gap-3">
        {recipe.map((step, at) => (
          <StepCard
            // Steps are told apart by their places alone; a step that moves takes its settings with it.
            key={`${at}-${step.mode}`}
            step={step}
            number={at + 1}
            obstacle={obstacles[at] ?? null}
            sample={sample}
            canByFour={canByFour}
            onChange={(next) => onChange(recipe.with(at, next))}
            onRemove={recipe.length === 1 ? null : () => onChange(recipe.toSpliced(at, 1))}
            onUp={
              at === 0
                ? null
                : () => onChange(recipe.toSpliced(at - 1, 2, ...recipe.slice(at - 1, at + 1).toReversed()))
            }
          />
        ))}
      </ol>
      <Menu
        trigger={
          <button type="button" disabled={isFull} className={cx(buttonStyle("quiet", "small"), "self-start")}>
            <Plus aria-hidden />
            {t("addStep")}
          </button>
        }
      >
        {stepModes.map((mode) => (
          <MenuItem key={mode} onSelect={() => onChange([...recipe, stepOf(mode)])}>
            {modes(`${mode}.name`)}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}

/** The pictures and the recipe as they were left, also in another tab of this browser. */
function useKept() {
  const [imageIds, setImages] = useState(() => readIds(readDraft(draftKeys.several)));
  const [recipe, setRecipe] = useState(() => readRecipe(readDraft(draftKeys.recipe)));
  return {
    imageIds,
    recipe,
    keepImages: (ids: readonly string[]) => {
      setImages(ids);
      writeDraft(draftKeys.several, ids.join(","));
    },
    keepRecipe: (next: Recipe) => {
      setRecipe(next);
      writeDraft(draftKeys.recipe, JSON.stringify(next));
    },
  };
}

type Chosen = Pick<ReturnType<typeof useKept>, "imageIds" | "recipe">;

/** What is ordered for the pictures; why it cannot be yet, and what it would cost. */
function useOrder({ imageIds, recipe }: Chosen) {
  const t = useTranslations("several");
  const modes = useTranslations("edit.modes");
  const byFour = useUpscaleByFour();
  const offers = { change: findForReferences(useWorkflows("edit"), 0), byFour };
  const obstacles = useObstacles(recipe, offers);
  const most = useCapabilities()?.limits.maxBatchJobs ?? Infinity;
  const names = recipe.map(({ mode }) => modes(`${mode}.name`));
  const title = t("batch", { steps: names.join(" → "), count: imageIds.length });
  const isTooMany = imageIds.length > most;
  const isReady = !isTooMany && obstacles.every((obstacle) => obstacle === null);
  const ordered = { imageIds, recipe, title, offers };
  const answer = useBatchEstimate(isReady ? severalRequest({ ...ordered, isQuote: true }) : null);
  const input = isReady ? severalRequest({ ...ordered, isQuote: false }) : null;
  const refusals = new Map(
    (answer?.refused ?? []).flatMap(({ position, message }) => {
      const id = imageIds[position];
      return id === undefined ? [] : [[id, message] as const];
    }),
  );
  return { input, answer, refusals, obstacles, canByFour: byFour.isPossible, limit: isTooMany ? most : null };
}

interface RoomProps extends ReturnType<typeof useKept> {
  readonly isBusy: boolean;
  readonly start: ReturnType<typeof useSubmitBatch>["mutate"];
}

function Room({ imageIds, recipe, keepImages, keepRecipe, isBusy, start }: RoomProps) {
  const t = useTranslations("several");
  const { input, answer, refusals, obstacles, canByFour, limit } = useOrder({ imageIds, recipe });
  const count = imageIds.length;
  return (
    <div className="grid gap-8 px-4 pb-24 sm:px-6 wide:grid-cols-[minmax(0,1fr)_352px] wide:px-8">
      <Pictures
        imageIds={imageIds}
        refusals={refusals}
        onRemove={(ids) => keepImages(imageIds.filter((id) => !ids.includes(id)))}
      />
      <aside aria-label={t("what")} className="flex h-fit min-w-0 flex-col gap-4">
        <Steps
          recipe={recipe}
          obstacles={obstacles}
          sampleId={imageIds[0] ?? null}
          canByFour={canByFour}
          onChange={keepRecipe}
        />
        <OwnOnlyChoice />
        <div className="sticky bottom-(--tabs) z-1 -my-3 flex flex-col gap-2 bg-paper py-3 wide:bottom-0">
          {limit === null ? null : <p className="text-xs text-warn">{t("tooMany", { count: limit })}</p>}
          {answer === undefined ? null : <BatchEstimateLine answer={answer} count={count} />}
          <RunButton
            canRun={input !== null && refusals.size === 0}
            isBusy={isBusy}
            onRun={() => input === null || start({ input, shownUsd: answer?.maxPriceUsd })}
          >
            {t("run", { count })}
          </RunButton>
        </div>
      </aside>
    </div>
  );
}

function Kept() {
  const t = useTranslations("several");
  const router = useRouter();
  const kept = useKept();
  const { isPending, mutate } = useSubmitBatch(({ id }) => router.push(`/batches/${id}`));
  if (kept.imageIds.length > 0) return <Room {...kept} isBusy={isPending} start={mutate} />;
  return (
    <EmptyState title={t("empty")} text={t("emptyText")}>
      <Link href="/gallery" className={buttonStyle("primary")}>
        {t("toGallery")}
      </Link>
    </EmptyState>
  );
}

/** Pictures that were chosen in the gallery, each edited by the same steps, ordered as one batch. */
export function Several() {
  const t = useTranslations("several");
  const isHydrated = useIsHydrated();
  return (
    <>
      <PageHeader title={t("title")}>
        <Link href="/gallery" className={buttonStyle()}>
          <Images aria-hidden />
          {t("gallery")}
        </Link>
      </PageHeader>
      {isHydrated ? <Kept /> : null}
    </>
  );
}
