"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useState } from "react";
import { minPasswordLength } from "../client/session.ts";
import { Checkbox, Field, Segmented } from "../ui/fields.tsx";

const ends = ["1", "7", "30", "never"] as const;
export type End = (typeof ends)[number];

/** What the form of a link holds, for a new link and for one that is there. */
export interface LinkDraft<Ends extends string = End> {
  readonly title: string;
  readonly end: Ends;
  readonly password: string;
  readonly mayDownload: boolean;
}

export type EndOrKept = End | "keep";

/** The server's number of days until the end. */
export const daysOf = (end: End) => (end === "never" ? null : Number(end));

export function useLinkDraft<Ends extends string>(first: LinkDraft<Ends>) {
  const [draft, setDraft] = useState(first);
  return { draft, change: (part: Partial<LinkDraft<Ends>>) => setDraft({ ...draft, ...part }) };
}

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}

/** One choice out of a few, under its name. */
export function NamedChoice<Value extends string>(props: ChoiceProps<Value>) {
  return (
    <div className="flex flex-col items-start gap-1.5">
      <span aria-hidden className="text-xs font-medium">
        {props.label}
      </span>
      <Segmented {...props} />
    </div>
  );
}

interface PasswordProps {
  readonly label: string;
  readonly hint?: string;
  readonly required?: boolean;
  readonly value: string;
  readonly onValueChange: (value: string) => void;
}

export function LinkPassword(props: PasswordProps) {
  return (
    <Field
      {...props}
      name="link-password"
      type="password"
      minLength={minPasswordLength}
      maxLength={100}
      autoComplete="new-password"
    />
  );
}

interface FieldsProps<Ends extends string> {
  readonly draft: LinkDraft<Ends>;
  readonly onChange: (part: Partial<LinkDraft<Ends>>) => void;
  readonly endLabel: string;
  /** Before the ends that every link can have. */
  readonly firstEnds?: readonly { readonly value: Exclude<Ends, End>; readonly label: string }[];
  /** What stands for the password. */
  readonly children: ReactNode;
}

/** The fields of a link: title, end, password, whether its visitors may download. */
export function LinkFields<Ends extends EndOrKept>({
  draft,
  onChange,
  endLabel,
  firstEnds = [],
  children,
}: FieldsProps<Ends | End>) {
  const t = useTranslations("links");
  return (
    <>
      <Field
        name="link-title"
        label={t("name")}
        hint={t("nameHint")}
        maxLength={120}
        autoComplete="off"
        value={draft.title}
        onValueChange={(title) => onChange({ title })}
      />
      <NamedChoice
        label={endLabel}
        value={draft.end}
        options={[...firstEnds, ...ends.map((value) => ({ value, label: t(`end.${value}`) }))]}
        onChange={(end) => onChange({ end })}
      />
      {children}
      <Checkbox checked={draft.mayDownload} onChange={(mayDownload) => onChange({ mayDownload })}>
        {t("mayDownload")}
      </Checkbox>
    </>
  );
}
