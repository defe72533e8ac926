"""What the standard image has imported: what programs use most, so that they find it there.

The driver needs some of it; the rest is chosen by the time it saves against the memory it costs.
"""

import asyncio
import base64
import bisect
import collections
import contextlib
import copy
import csv
import dataclasses
import datetime
import enum
import functools
import glob
import heapq
import inspect
import io
import itertools
import json
import linecache
import logging
import math
import operator
import os
import pathlib
import pickle
import random
import re
import shutil
import string
import struct
import subprocess
import tempfile
import textwrap
import time
import traceback
import typing
import urllib.parse
import zlib
