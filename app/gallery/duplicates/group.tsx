"use client";
import { Check } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import type { DuplicateGroup } from "@atelier/server/duplicates";
import { AiBadge, Picture, useImageName } from "../../pictures/picture.tsx";
import { Button, cx, Kbd } from "../../ui/button.tsx";

type Duplicate = DuplicateGroup["pictures"][number];

const kb = 1_024;

/** What is said of each picture, as text; null where there is nothing to say. */
function useFacts() {
  const t = useTranslations("duplicates");
  const format = useFormatter();
  return (picture: Duplicate) => {
    const size = picture.sizeBytes < kb * kb ? picture.sizeBytes / kb : picture.sizeBytes / kb / kb;
    return {
      pixels: `${picture.widthPx} × ${picture.heightPx}`,
      bytes: t(picture.sizeBytes < kb * kb ? "kb" : "mb", {
        size: format.number(size, { maximumFractionDigits: size < 10 ? 1 : 0 }),
      }),
      type: picture.mime.replace("image/", "").toUpperCase(),
      made: format.dateTime(new Date(picture.createdAt), { dateStyle: "medium", timeStyle: "short" }),
      boards: picture.boards.join(", ") || null,
      tags: picture.tags.join(", ") || null,
      rating: picture.rating === 0 ? null : t("stars", { count: picture.rating }),
      starred: picture.starred ? t("starred") : null,
    };
  };
}

type Facts = ReturnType<ReturnType<typeof useFacts>>;

const factNames = ["pixels", "bytes", "type", "made", "boards", "tags", "rating", "starred"] as const;

interface CardProps {
  readonly group: DuplicateGroup;
  readonly picture: Duplicate;
  readonly facts: Facts;
  /** The facts that are not the same in the whole group. */
  readonly differing: ReadonlySet<string>;
  readonly isKept: boolean;
  readonly onKeep: () => void;
}

function Card({ group, picture, facts, differing, isKept, onKeep }: CardProps) {
  const t = useTranslations("duplicates");
  const nameOf = useImageName();
  const name = nameOf(picture);
  const shown = factNames.filter((fact) => facts[fact] !== null);
  return (
    <li className="w-44 shrink-0 snap-start sm:w-52">
      <label
        className={cx(
          "block cursor-pointer rounded-card border p-2 has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent",
          isKept ? "border-accent" : "border-line",
        )}
      >
        <span className="relative block aspect-square bg-well">
          <Picture
            imageId={picture.id}
            variant="preview"
            thumbhash={picture.thumbhash}
            alt=""
            fit="contain"
            className={cx("size-full", !isKept && "opacity-70")}
          />
          {picture.isAi ? (
            <span className="absolute end-1.5 bottom-1.5">
              <AiBadge />
            </span>
          ) : null}
        </span>
        <span className="mt-2 flex items-center gap-2 text-sm font-medium">
          <input
            type="radio"
            name={`keep-${group.id}`}
            checked={isKept}
            onChange={onKeep}
            aria-label={t("keepThis", { name })}
            className="size-4 shrink-0 accent-accent outline-none"
          />
          {t(isKept ? "kept" : "toTrash")}
        </span>
        <span className="mt-1 line-clamp-2 text-xs break-words text-quiet" title={name}>
          {name}
        </span>
      </label>
      <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-2 gap-y-0.5 px-2 text-xs">
        {shown.map((fact) => (
          <div key={fact} className="contents">
            <dt className="text-quiet">{t(`facts.${fact}`)}</dt>
            <dd
              className={cx(
                "tabular text-end break-words",
                differing.has(fact) ? "font-semibold" : "text-quiet",
              )}
            >
              {facts[fact]}
            </dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

interface GroupProps {
  readonly group: DuplicateGroup;
  readonly keepId: string;
  readonly onKeep: (id: string) => void;
  readonly onMerge: () => void;
  readonly onDismiss: () => void;
}

/** The pictures of a group beside each other, which one is kept and why. */
export function Group({ group, keepId, onKeep, onMerge, onDismiss }: GroupProps) {
  const t = useTranslations("duplicates");
  const factsOf = useFacts();
  const facts = new Map(group.pictures.map((picture) => [picture.id, factsOf(picture)]));
  const differing = new Set(
    factNames.filter((fact) => new Set([...facts.values()].map((each) => each[fact])).size > 1),
  );
  const others = group.pictures.length - 1;
  return (
    <section
      data-group={group.id}
      aria-label={t("group", { count: group.pictures.length })}
      className="border-t border-line py-6"
    >
      <div className="mb-3 flex flex-wrap items-center gap-x-6 gap-y-2">
        <p className="flex items-center gap-2 text-sm">
          {keepId === group.keepId ? (
            <>
              <Check aria-hidden className="size-4 shrink-0 text-quiet" />
              {t(`reasons.${group.reason}`)}
            </>
          ) : (
            t("ownChoice")
          )}
        </p>
        <div className="flex flex-wrap gap-2 max-sm:-ms-2.5">
          <Button look="quiet" size="small" onClick={onDismiss}>
            {t("dismiss")}
            <span className="pointer-coarse:hidden">
              <Kbd keys="n" />
            </span>
          </Button>
          <Button size="small" onClick={onMerge}>
            {t("merge", { count: others })}
            <span className="pointer-coarse:hidden">
              <Kbd keys="Enter" />
            </span>
          </Button>
        </div>
      </div>
      <ul className="-mx-4 flex snap-x scroll-px-4 gap-3 overflow-x-auto px-4 py-1 sm:mx-0 sm:scroll-px-1 sm:px-1">
        {group.pictures.map((picture) => {
          const own = facts.get(picture.id);
          return own === undefined ? null : (
            <Card
              key={picture.id}
              group={group}
              picture={picture}
              facts={own}
              differing={differing}
              isKept={picture.id === keepId}
              onKeep={() => onKeep(picture.id)}
            />
          );
        })}
      </ul>
    </section>
  );
}
