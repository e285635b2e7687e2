"""The matrix as a table, as JSON and as JUnit XML."""

import json
import pathlib
import xml.etree.ElementTree as xml

MARKS = {True: "ok", False: "FAIL", None: "-"}


def table(results: list) -> str:
    """One block per client and dialect: scenarios down, backends across."""
    blocks = {}
    for result in results:
        blocks.setdefault((result["client"], result["dialect"]), []).append(result)
    lines = []
    for (client, dialect), members in blocks.items():
        columns = list(dict.fromkeys(r["backend"] for r in members))
        rows = list(dict.fromkeys(r["scenario"] for r in members))
        verdict = {(r["scenario"], r["backend"]): r["ok"] for r in members}
        width = max(len(row) for row in rows) + 2
        heading = f"{client} {dialect}".ljust(max(width, 30))
        lines.append(heading + "".join(column.rjust(13) for column in columns))
        for row in rows:
            marks = "".join(MARKS[verdict.get((row, column))].rjust(13) for column in columns)
            lines.append(f"  {row}".ljust(max(width, 30)) + marks)
        lines.append("")
    return "\n".join(lines)


def failures(results: list) -> str:
    return "\n".join(f"FAIL {r['id']}\n  " + str(r["detail"]).replace("\n", "\n  ") for r in results if not r["ok"])


def write_json(results: list, versions: dict, path: pathlib.Path) -> None:
    path.write_text(json.dumps({"versions": versions, "results": results}, indent=1, ensure_ascii=False) + "\n")


def write_junit(results: list, path: pathlib.Path) -> None:
    suite = xml.Element(
        "testsuite",
        name="clients",
        tests=str(len(results)),
        failures=str(sum(not r["ok"] for r in results)),
    )
    for result in results:
        group = f"clients.{result['client']}.{result['dialect']}"
        case = xml.SubElement(
            suite,
            "testcase",
            classname=group,
            name=f"{result['backend']}.{result['scenario']}",
            time=f"{result.get('seconds') or 0:.3f}",
        )
        if not result["ok"]:
            # Control characters a client printed are not allowed in XML.
            detail = "".join(c for c in str(result["detail"]) if c in "\n\t" or ord(c) >= 32)
            xml.SubElement(case, "failure", message=detail[:200]).text = detail
    xml.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
