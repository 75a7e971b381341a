"use client";
import { useTranslations } from "next-intl";
import { termOf } from "@atelier/server/search-query";
import { useCapabilities } from "../client/queries.ts";
import { useOfferedValues } from "./search-box.tsx";
import { exampleOf, offeredOperators, type OfferedValues } from "./search-completions.ts";

interface Row {
  readonly key: string;
  /** What a press puts into the line. */
  readonly example: string;
  readonly text: string;
  /** What the operator takes. */
  readonly takes?: string;
}

/** Words first, then the operators with something that this user would find. */
function useRows(): readonly Row[] {
  const t = useTranslations("gallery.search");
  const offered = useOfferedValues();
  const hasMeaning = useCapabilities()?.hasMeaning === true;
  const words = t("help.exampleWords");
  const [first = words] = words.split(" ");
  const standIns: OfferedValues = {
    model: [{ value: "flux" }],
    board: [{ value: t("help.exampleBoard") }],
    tag: [{ value: t("help.exampleTag") }],
  };
  const ofOperators = offeredOperators.map((name): Row => {
    const example = exampleOf(name, offered) ?? exampleOf(name, standIns) ?? `${name}:`;
    return { key: name, example, text: t(`operators.${name}`), takes: t(`takes.${name}`) };
  });
  const near = { key: "near", example: termOf("near", words), text: t("operators.near") };
  return [
    { key: "words", example: words, text: t("help.words") },
    { key: "phrase", example: `"${words}"`, text: t("help.phrase") },
    { key: "without", example: `-${first}`, text: t("help.without") },
    ...ofOperators,
    ...(hasMeaning ? [near] : []),
  ];
}

interface Props {
  readonly onTake: (example: string) => void;
}

/** All that a search may say, each with an example. */
export function SearchHelp({ onTake }: Props) {
  const t = useTranslations("gallery.search.help");
  return (
    <>
      <p className="pb-3 text-sm text-quiet">{t("text")}</p>
      <ul className="-mx-2 flex flex-col">
        {useRows().map(({ key, example, text, takes }) => (
          <li key={key}>
            <button
              type="button"
              onClick={() => onTake(example)}
              className="grid w-full items-baseline gap-x-4 gap-y-0.5 rounded-control px-2 py-2 text-start text-sm hover:bg-hover sm:grid-cols-[12rem_minmax(0,1fr)]"
            >
              <code className="font-sans font-medium break-words">{example}</code>
              <span className="min-w-0 text-quiet">
                {text}
                {takes === undefined ? null : <span className="block text-xs">{takes}</span>}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
