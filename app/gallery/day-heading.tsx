import type { useFormatter } from "next-intl";

interface Props {
  /** Days of the calendar, as `2026-11-21`. */
  readonly day: string;
  readonly today: string;
  readonly names: { readonly today: string; readonly yesterday: string };
  readonly dateTime: ReturnType<typeof useFormatter>["dateTime"];
}

const dayMs = 86_400_000;

/** Stands for a day in whichever zone it is one. */
const noonOf = (day: string) => new Date(`${day}T12:00:00Z`);

/** The heading of a day, in the server's HTML and in the page. */
export function DayHeading({ day, today, names, dateTime }: Props) {
  const daysAgo = (noonOf(today).getTime() - noonOf(day).getTime()) / dayMs;
  const name = [names.today, names.yesterday][daysAgo];
  const date = dateTime(noonOf(day), {
    timeZone: "UTC",
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(day.slice(0, 4) === today.slice(0, 4) ? {} : { year: "numeric" }),
  });
  return (
    <h2 className="flex h-full items-end gap-2 pb-2.5 text-sm">
      {name === undefined ? null : <span className="font-medium">{name}</span>}
      <span className={name === undefined ? "font-medium" : "text-quiet"}>{date}</span>
    </h2>
  );
}
