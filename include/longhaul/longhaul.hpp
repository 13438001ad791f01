// SPDX-License-Identifier: Apache-2.0
/// The whole public C++ API. Source-stable from 1.0; marked unstable until then.
#pragma once

#include "longhaul/address.hpp"
#include "longhaul/config.hpp"
#include "longhaul/connection.hpp"
#include "longhaul/endpoint.hpp"
#include "longhaul/error.hpp"
#include "longhaul/export.hpp"
#include "longhaul/log.hpp"
#include "longhaul/result.hpp"
#include "longhaul/security.hpp"
#include "longhaul/stats.hpp"
#include "longhaul/status.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/time.hpp"
#include "longhaul/transfer.hpp"
#include "longhaul/version.hpp"
