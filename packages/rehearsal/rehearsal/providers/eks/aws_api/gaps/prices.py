"""Prices: moto has no Price List, and one made-up price, of 2006, for all spot machines.

The rehearsal has no better data. The catalogue has prices of some machines in some regions and none of spot, and
Karpenter takes a price list as a whole or not at all
(https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/pricing/pricing.go): without one it says so in
its log and stays with the prices that it carries, where spot machines cost what on-demand ones do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.providers.eks.aws_api.gaps.gap import GapRequest


def get_products(_: GapRequest) -> Mapping[str, Any]:
    """``pricing:GetProducts``: a price list without products."""
    return {"FormatVersion": "aws_v1", "PriceList": []}


def describe_spot_price_history(_: GapRequest) -> Mapping[str, Any]:
    """``ec2:DescribeSpotPriceHistory``: no history."""
    return {"SpotPriceHistory": []}
