"""An MCP server of the official SDK, over stdio or streamable HTTP: mcp_server.py stdio | http PORT [json]"""
import asyncio
import os
import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("test")
cancelled = []


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fails() -> str:
    """Always fails."""
    raise ValueError("it went wrong")


@server.tool()
async def sleeps(seconds: float) -> str:
    """Waits."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        cancelled.append(seconds)
        raise
    return "awake"


@server.tool()
def ended_early() -> int:
    """How many waits were cancelled."""
    return len(cancelled)


@server.tool()
def environment(name: str) -> str:
    """A variable of this server."""
    print("asked for", os.environ.get(name), file=sys.stderr, flush=True)
    return os.environ.get(name, "(none)")


@server.tool()
def dies() -> str:
    """Ends the server."""
    os._exit(3)


@server.tool()
def pid() -> int:
    """Which process this is."""
    return os.getpid()


@server.tool()
def large(n: int) -> str:
    """Many bytes."""
    return "x" * n


@server.tool()
async def tells(ctx: Context) -> str:
    """Reports progress before it answers."""
    for i in range(3):
        await ctx.report_progress(i, 3)
    return "told"


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]), json_response="json" in sys.argv)
