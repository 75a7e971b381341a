"use client";
import type { UserFigures } from "@atelier/server/monitoring";
import { CircleUserRound, ShieldCheck, UserRoundX, VenetianMask } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { StateChip } from "../parts/state-chip.tsx";
import { Cell, Row, Table } from "../table.tsx";
import { useAgo } from "../parts/use-ago.ts";

const icons = { admin: ShieldCheck, user: CircleUserRound, guest: VenetianMask } as const;
/** The server counts no further. */
const counted = 1_000;

function UserRow({ user }: { readonly user: UserFigures }) {
  const t = useTranslations("admin.users");
  const format = useFormatter();
  const ago = useAgo();
  const count = (value: number) =>
    value >= counted ? t("more", { count: format.number(counted) }) : format.number(value);
  return (
    <Row>
      <Cell label={t("name")} isHead>
        <span className="block max-w-96 truncate md:max-xl:max-w-60 font-medium">{user.name}</span>
        <span className="block max-w-96 truncate md:max-xl:max-w-60 text-quiet">{user.email ?? user.id}</span>
      </Cell>
      <Cell label={t("role")}>
        <StateChip icon={icons[user.role]} tone={user.role === "admin" ? "info" : "quiet"}>
          {t(`roles.${user.role}`)}
        </StateChip>
        {user.banned ? (
          <StateChip icon={UserRoundX} tone="fail">
            {t("banned")}
          </StateChip>
        ) : null}
      </Cell>
      <Cell label={t("open")} isNumeric>
        {user.openJobs}
      </Cell>
      <Cell label={t("jobs")} isNumeric>
        <Link href={`/admin/jobs?owner=${user.id}`} className="underline underline-offset-4">
          {count(user.jobs)}
          <span className="sr-only">{` · ${t("showJobs", { name: user.name })}`}</span>
        </Link>
      </Cell>
      <Cell label={t("pictures")} isNumeric>
        {count(user.images)}
      </Cell>
      <Cell label={t("joined")} isNumeric>
        {format.dateTime(new Date(user.createdAt), { dateStyle: "medium" })}
      </Cell>
      <Cell label={t("seen")} isNumeric>
        {user.seenMs === null ? t("never") : ago(user.seenMs)}
      </Cell>
    </Row>
  );
}

export function UserTable({ users }: { readonly users: readonly UserFigures[] }) {
  const t = useTranslations("admin.users");
  return (
    <Table
      caption={t("caption")}
      columns={[t("name"), t("role"), t("open"), t("jobs"), t("pictures"), t("joined"), t("seen")]}
      numeric={[2, 3, 4, 5, 6]}
    >
      {users.map((user) => (
        <UserRow key={user.id} user={user} />
      ))}
    </Table>
  );
}
